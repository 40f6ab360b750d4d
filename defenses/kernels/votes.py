"""What RADAR+ computes with arrays: votes for and against each answer, and its capacities.

Votes are counted twice: every page as one document, and every site by its voices. Two numbers side
by side, such as the rows of a (2, N) array, are always documents and voices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """The previous answer as a voter.

    `agreement` (n,) is with each page's answer; `lasting` (2,) are the documents and voices of the
    past that still count; `node`, in [0, 1], is what it weighs beside present documents in any
    case; `fade` in [0, 1] is what is left of its weight.
    """

    agreement: FloatArray
    lasting: FloatArray
    node: float
    fade: float


@dataclass(frozen=True, eq=False)
class Ballot:
    """Who votes: n pages, and perhaps the memory as the last of N nodes.

    `agreement` (n, n) is symmetric, in [0, 1], its diagonal how much an answer agrees with itself;
    `sites` (n, s) says with 0 and 1 whose page each is; `weights` (n,), in [0, 1], what the vote of
    each page is worth, 1 if not given; `copies` (s,) how many sites there are with pages equal to
    those of each, 1 if not given. Equal pages agree with one another as with themselves.
    """

    agreement: FloatArray
    sites: FloatArray
    remembered: Remembered | None = None
    weights: FloatArray | None = None
    copies: FloatArray | None = None

    @cached_property
    def whole(self) -> FloatArray:
        """The agreement of all N nodes; the memory agrees with itself."""
        if self.remembered is None:
            return self.agreement
        last = self.remembered.agreement
        return np.block([[self.agreement, last[:, None]], [last[None, :], np.ones((1, 1))]])

    @property
    def counts(self) -> FloatArray:
        """How many equal nodes each of the N stands for."""
        pages = np.ones(len(self.sites)) if self.copies is None else self.sites @ self.copies
        return pages if self.remembered is None else np.append(pages, 1.0)

    @cached_property
    def present(self) -> FloatArray:
        """The votes of pages for each node, (2, N)."""
        rows = self.weighed(self.whole)
        if self.copies is None:
            return np.array([rows.sum(axis=1), voices(rows, self.sites)])
        pages = self.sites @ self.copies
        return np.array([rows @ pages, site_cap(rows @ self.sites) @ self.copies])

    def weighed(self, rows: FloatArray) -> FloatArray:
        """The votes of each page, (m, n), from agreement with all nodes or all pages."""
        n = len(self.agreement)
        return np.asarray(rows[:, :n] if self.weights is None else rows[:, :n] * self.weights)

    @cached_property
    def missing(self) -> FloatArray:
        """The votes that the memory adds, (2,): those that no present page repeats.

        A page that is found again is no second witness. `node` counts as its present pages do.
        """
        if self.remembered is None:
            return np.zeros(2)
        present = self.present[:, -1]
        worth = present / present[0] if present[0] > 0.0 else np.ones(2)
        lacking = self.remembered.lasting - present
        return np.asarray(np.maximum(self.remembered.node * worth, lacking))

    @cached_property
    def support(self) -> FloatArray:
        """The votes for each node, (2, N)."""
        if self.remembered is None:
            return self.present
        return np.asarray(self.present + self.missing[:, None] * self.whole[-1])

    def apart(self, rows: FloatArray, others: FloatArray) -> "Apart":
        """The votes for each of l answers that are not for each of m others.

        `rows` (l, N) and `others` (m, N) are their agreement with all nodes.
        """
        said, excess = self.weighed(rows), exclusive(self.weighed(rows), self.weighed(others))
        if self.copies is not None:
            excess *= self.sites @ self.copies
        recalled = None
        if self.remembered is not None:
            recalled = np.maximum(0.0, rows[:, -1:] - others[:, -1])
        return Apart(excess, said @ self.sites, self.sites, recalled)


@dataclass(frozen=True, eq=False)
class Apart:
    """Votes of n pages for each of l answers that are not for each of m others.

    `excess` (l, m, n) is by how much each page agrees more with the one than with the other,
    `recalled` (l, m) the same for the memory; `held` (l, s) how many pages of each site say the
    answer; `sites` is (n, s).
    """

    excess: FloatArray
    held: FloatArray
    sites: FloatArray
    recalled: FloatArray | None

    @cached_property
    def documents(self) -> FloatArray:
        """The votes of documents, (l, m)."""
        return np.asarray(self.excess.sum(axis=2))

    def votes(self, missing: FloatArray, planted: float = 0.0) -> FloatArray:
        """The votes by both counts, (2, l, m), with the memory's (2,).

        A page has the voices that its site lends the answer, divided among the site's pages that
        say so; with `planted`, as if so many more of them said so.
        """
        held = np.maximum(self.held + planted, 1.0)  # up to one page, a page is a voice
        weights = (site_cap(held) / held) @ self.sites.T
        found = np.array([self.documents, np.einsum("lmp,lp->lm", self.excess, weights)])
        if self.recalled is None:
            return found
        return np.asarray(found + missing[:, None, None] * self.recalled)


def site_cap(pages: FloatArray) -> FloatArray:
    """The voices of so many pages of one site that say the same: 1 + log p, p itself up to 1.

    Concave, and nowhere steeper than 1: no page adds more than one voice.

    >>> site_cap(np.array([0.5, 1.0, 4.0, 9.0])).round(2).tolist()
    [0.5, 1.0, 2.39, 3.2]
    """
    return np.asarray(np.where(pages <= 1.0, pages, 1.0 + np.log(np.maximum(pages, 1.0))))


def site_members(sites: Sequence[str]) -> FloatArray:
    """Whose page each is: (n, s) of 0 and 1; a page without a site is its own."""
    columns: dict[str, int] = {}
    places = [
        columns.setdefault(site or f"page {i} alone", len(columns)) for i, site in enumerate(sites)
    ]
    members = np.zeros((len(sites), len(columns)))
    members[np.arange(len(sites)), places] = 1.0
    return members


def voices(agreement: FloatArray, sites: FloatArray) -> FloatArray:
    """The voices for each of m answers, (m,): what each site's pages agree, capped, added up.

    `agreement` is (m, n) with n pages; `sites` (n, s).
    """
    return np.asarray(site_cap(agreement @ sites).sum(axis=1))


def exclusive(rows: FloatArray, others: FloatArray) -> FloatArray:
    """By how much n pages agree more with each of l answers than with each of m, (l, m, n)."""
    excess = rows[:, None, :] - others[None, :, :]
    return np.asarray(np.maximum(0.0, excess, out=excess))


def strongest_rival(support: FloatArray, apart: FloatArray) -> FloatArray:
    """The votes against each answer, (2, m): of its rivals i the most of min(f_i, 2 e_ij).

    `support` f is (2, l), `apart` e (2, l, m). A rival counts in full if at least half of its
    votes are not for the answer, and the less the more they share: what is said in two ways is
    no rival of itself, and one wrong relation between two answers makes them none.
    """
    values = np.minimum(support[:, :, None], 2.0 * apart)
    return np.asarray(values.max(axis=1, initial=0.0))


def shares(support: FloatArray, opposition: FloatArray, sharpness: float) -> FloatArray:
    """f^q / (f^q + o^q), in [0, 1]: above a half where more speaks for an answer than against.

    0 where nothing speaks at all. Computed without overflow for every sharpness q > 0.
    """
    most = np.maximum(support, opposition)
    safe = np.where(most > 0.0, most, 1.0)
    strong, weak = (support / safe) ** sharpness, (opposition / safe) ** sharpness
    return np.asarray(strong / np.where(most > 0.0, strong + weak, 1.0))


def keep_shares(ballot: Ballot, sharpness: float) -> FloatArray:
    """S, (N,): the share of votes by the count that speaks less for a node.

    An answer that agrees with the memory gets the rest of the other count as far as the memory has
    not faded.
    """
    support = ballot.support
    apart = ballot.apart(ballot.whole, ballot.whole).votes(ballot.missing)
    both = shares(support, strongest_rival(support, apart), sharpness)
    low, high = both.min(axis=0), both.max(axis=0)
    if ballot.remembered is None:
        return np.asarray(low)
    return np.asarray(low + ballot.remembered.fade * ballot.whole[-1] * (high - low))
