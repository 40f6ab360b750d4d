"""How many documents, and sites, an attacker needs at least before RADAR+ keeps another side.

The bound of `docs/radar_plus.md`. It holds for every choice of planted answers, ranks and sites,
and for every relation of theirs that the assumption of `Rule` allows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.votes import Apart, Ballot, shares, site_cap

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST = 10_000  # the search ends here
SLACK = 1e-6  # above the error of a cut in integers


@dataclass(frozen=True, slots=True)
class Rule:
    """What the cut was made with, and what is assumed.

    `sharpness`, `pair_scale` and `normalise` are RADAR+'s options. `leak` in [0, 1) is assumed:
    the scorer sees at most this agreement between a planted answer and any kept one. The relations
    of present pages and the memory stay as they are, and the fall-back is to abstain. Capacities
    are votes; RADAR's own node of the memory (half-life 0) is not covered.
    """

    sharpness: float = 2.0
    pair_scale: float = 1.0
    normalise: bool = True
    leak: float = 0.0


@dataclass(frozen=True, slots=True)
class FlipCounts:
    """At least so many are needed before anything is kept that is cut now, or that is planted.

    Each number is at least 1; one less proves to be too few. `add` and `replace` count documents,
    `add_sites` sites with any documents that fit on them. Replacing takes out any of the present
    documents, as many as are planted.
    """

    add: int
    replace: int
    add_sites: int


@dataclass(frozen=True, slots=True)
class _Attack:
    """Bounds of what an attacker does: pages added, (2,) votes gained, pages taken out."""

    pages: float
    gained: FloatArray
    removed: int


def documents_to_flip(
    ballot: Ballot, kept: BoolArray, rule: Rule, *, pages_per_site: int
) -> FlipCounts | None:
    """The bounds for a cut that kept the nodes of the mask `kept` (N,); None if it kept none.

    `pages_per_site` is how many documents one site can have in a snapshot, at most k.
    """
    if not kept.any():
        return None
    per_site = np.array([pages_per_site, float(site_cap(np.array(float(pages_per_site))))])

    cut = _JudgedCut(ballot, kept, rule)

    def adding(x: int) -> _Attack:
        return _Attack(1, np.full(2, float(x)), 0)  # more pages only weaken the bonds

    def replacing(x: int) -> _Attack:
        return _Attack(0, np.full(2, float(x)), x)

    def from_sites(s: int) -> _Attack:
        return _Attack(1, s * per_site, 0)

    return FlipCounts(*(_fewest(attack, cut) for attack in (adding, replacing, from_sites)))


@dataclass(frozen=True, eq=False)
class _JudgedCut:
    """A cut as it stands: what the bounds of all attacks on it share."""

    ballot: Ballot
    kept: BoolArray
    rule: Rule

    @cached_property
    def whole(self) -> FloatArray:
        """The agreement of all nodes, (N, N)."""
        return self.ballot.whole

    @cached_property
    def from_others(self) -> Apart:
        """The votes for each kept node that are not for each that is cut."""
        return self.ballot.apart(self.whole[self.kept], self.whole[~self.kept])

    @cached_property
    def from_planted(self) -> Apart:
        """The votes for each kept node that are not for a planted answer."""
        planted = np.where(self.kept, self.rule.leak, 1.0)[None, :]
        return self.ballot.apart(self.whole[self.kept], planted)

    @cached_property
    def bonds(self) -> FloatArray:
        """The agreement of each node that is cut with the kept ones, summed and scaled."""
        across = self.whole[np.ix_(~self.kept, self.kept)]
        return np.asarray(self.rule.pair_scale * across.sum(axis=1))


def _fewest(attack: Callable[[int], _Attack], cut: _JudgedCut) -> int:
    """The smallest attack that the bound does not exclude: it excludes every smaller one."""
    low, high = 0, 1
    while high < MOST and _excluded(attack(high), cut):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _excluded(attack(middle), cut):
            low = middle
        else:
            high = middle
    return min(high, MOST)


def _excluded(attack: _Attack, cut: _JudgedCut) -> bool:
    """Whether no such attack makes the cut keep a planted node or one that is cut now."""
    ballot, kept, rule = cut.ballot, cut.kept, cut.rule
    recalled, pages = cut.whole[-1], len(ballot.agreement)
    nodes = len(kept) + attack.pages if rule.normalise else 1.0
    missing = _least_missing(attack, ballot, kept, rule)
    held = ballot.present[:, kept] + missing[:, None] * recalled[kept]
    diluted = rule.leak * float(attack.gained[0])
    fade = 0.0 if ballot.remembered is None else ballot.remembered.fade

    votes = _most_for_planted(attack, ballot, kept, rule)[:, None]
    against = _least_rival(
        held, cut.from_planted.votes(missing, diluted), kept, pages, attack.removed
    )
    bonds = np.array([rule.pair_scale * rule.leak * kept.sum() / nodes])
    trust = np.array([fade * (rule.leak if kept[-1] else 1.0)])
    if _may_be_kept(votes, against, bonds, trust, rule).any():
        return False
    if kept.all():
        return True

    votes = ballot.support[:, ~kept] + attack.gained[:, None]
    if ballot.remembered is not None:
        votes = votes + (1.0 + attack.removed) * recalled[~kept]
    against = _least_rival(
        held, cut.from_others.votes(missing, diluted), kept, pages, attack.removed
    )
    bonds, trust = cut.bonds / nodes, fade * recalled[~kept]
    return not _may_be_kept(votes, against, bonds, trust, rule).any()


def _may_be_kept(
    votes: FloatArray, against: FloatArray, bonds: FloatArray, trust: FloatArray, rule: Rule
) -> BoolArray:
    """Where 2 S - 1 + bonds > 0 cannot be excluded: the necessary condition of the proof."""
    low, high = np.sort(shares(votes, against, rule.sharpness), axis=0)
    most = low + trust * (high - low)
    return np.asarray(2.0 * most - 1.0 + bonds > -SLACK)


def _least_missing(attack: _Attack, ballot: Ballot, kept: BoolArray, rule: Rule) -> FloatArray:
    """What the memory adds at least, (2,): planted pages may repeat it, if it was cut."""
    if ballot.remembered is None or not kept[-1]:
        return np.zeros(2)
    lacking = ballot.remembered.lasting - ballot.present[:, -1]
    return np.maximum(0.0, lacking - rule.leak * attack.gained)


def _least_rival(
    held: FloatArray, own: FloatArray, kept: BoolArray, pages: int, removed: int
) -> FloatArray:
    """The least that stands against each of m answers, (2, m), when `removed` pages are gone.

    `held` (2, kept) are the votes for each kept node, `own` (2, kept, m) those that are not for
    the answer. The attacker takes out the strongest pages; the memory stays.
    """
    values = np.minimum(held[:, :, None], 2.0 * own)
    inside = int(kept[:pages].sum())
    least = np.minimum(held[:, :inside, None] - removed, 2.0 * (own[:, :inside] - removed))
    left = np.sort(least, axis=1)[:, : max(0, inside - removed)]
    lasting = np.minimum(held[:, inside:, None] - removed, 2.0 * (own[:, inside:] - removed))
    both = np.concatenate((left, lasting), axis=1) if removed else values
    return np.asarray(np.maximum(0.0, both).max(axis=1, initial=0.0))


def _most_for_planted(attack: _Attack, ballot: Ballot, kept: BoolArray, rule: Rule) -> FloatArray:
    """The most votes that a planted answer can have, (2,)."""
    pages = kept[: len(ballot.agreement)]
    weights = np.where(pages, rule.leak, 1.0)
    votes = np.array([weights.sum(), site_cap(weights @ ballot.sites).sum()]) + attack.gained
    if ballot.remembered is not None:
        missing = ballot.missing + 1.0 + attack.removed
        votes = votes + (rule.leak if kept[-1] else 1.0) * missing
    return np.asarray(votes)
