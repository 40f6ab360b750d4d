"""Counts the independent sites behind each answer of a snapshot."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.independence import alike_in, most_independent
from radarstream.defenses.kernels.radar import both_ways
from radarstream.schemas.answer_text import spelling
from radarstream.schemas.evidence import AGREEMENT, Evidence
from radarstream.schemas.sites import UNKNOWN_OWNER, cited_in, owner_of
from radarstream.schemas.snapshot import Document
from radarstream.schemas.verdict import Reason

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tally:
    """The v voices of a snapshot: for each owner its best ranked document with an answer.

    `places` are the indices of these documents, ascending. `torn` are the documents of owners
    without a voice, because their answers contradict each other or steer the judge; `beside` are
    the other documents that are not voices. The (v, v) masks are `alike`: the voices are not
    independent (`kernels.independence`); `agree`: the answers mean the same; `against`: they
    contradict each other.
    """

    places: tuple[int, ...]
    torn: tuple[int, ...]
    beside: tuple[int, ...]
    alike: BoolArray
    agree: BoolArray
    against: BoolArray

    def largest(self, members: BoolArray) -> int:
        """Return the size of the largest set of `members`, a (v,) mask, that are pairwise
        independent and agree. A further voice adds 0 or 1.
        """
        at = np.flatnonzero(members)
        apart = self.apart[at][:, at]
        # Nearly always no two members are apart, and no search is needed.
        return len(at) if np.count_nonzero(apart) == len(at) else most_independent(apart)

    @cached_property
    def apart(self) -> BoolArray:
        """Pairs that do not count together, (v, v): not independent, or no agreement."""
        return np.asarray(self.alike | ~self.agree)

    def strongest(self, members: BoolArray) -> tuple[int, int | None]:
        """Return how many sites of `members` say their strongest answer, and the number of the best
        ranked voice with it, None without members.
        """
        at = np.flatnonzero(members).tolist()

        def merit(number: int) -> tuple[int, int]:
            return self.largest(members & self.agree[number]), -number

        return self.largest(members), max(at, key=merit, default=None)

    @property
    def voiceless(self) -> dict[int, Reason]:
        """The reasons of documents with an answer that are not voices, by place."""
        beside = dict.fromkeys(self.beside, Reason.SAME_SITE)
        return beside | dict.fromkeys(self.torn, Reason.SELF_CONTRADICTION)

    @cached_property
    def counts(self) -> tuple[tuple[int, int], ...]:
        """For each voice, how many sites say its answer, and how many its strongest rival."""
        known: dict[bytes, int] = {}

        def largest(members: BoolArray) -> int:
            key = members.tobytes()
            if key not in known:
                known[key] = self.largest(members)
            return known[key]

        rows = zip(self.agree, self.against, strict=True)
        return tuple((largest(agreeing), largest(opposing)) for agreeing, opposing in rows)


# Reading, the defence and the support of its answer use the same tally.
_counted: Final[WeakKeyDictionary[Evidence, Tally]] = WeakKeyDictionary()


def tally_of(evidence: Evidence) -> Tally:
    """Return the tally of a snapshot, counting once for each `evidence` object."""
    tally = _counted.get(evidence)
    if tally is None:
        tally = _counted[evidence] = count_voices(evidence)
    return tally


def count_voices(evidence: Evidence) -> Tally:
    """Count the voices of a snapshot.

    Without relations, answers agree if they are spelt alike, and none contradicts another. Without
    atomic answers, every document counts as an answer of its own.
    """
    places = (
        evidence.informative if evidence.answers is not None else range(len(evidence.documents))
    )
    documents = [evidence.documents[place] for place in places]
    agree, against = _relations(evidence, places)
    owners = [owners_in(document) for document in documents]
    members: dict[str, list[int]] = defaultdict(list)
    for number, names in enumerate(owners):
        members[names[0]].append(number)
    torn = {
        number
        for of_site in members.values()
        if against[of_site][:, of_site].any()
        for number in of_site
    }
    speaking = [of_site[0] for of_site in members.values() if of_site[0] not in torn]
    return Tally(
        places=tuple(places[number] for number in speaking),
        torn=tuple(places[number] for number in sorted(torn)),
        beside=tuple(
            place
            for number, place in enumerate(places)
            if number not in torn and number not in speaking
        ),
        alike=alike_in(
            [owners[number] for number in speaking],
            [documents[number].text for number in speaking],
            UNKNOWN_OWNER,
        ),
        agree=agree[speaking][:, speaking],
        against=against[speaking][:, speaking],
    )


def _relations(evidence: Evidence, places: Sequence[int]) -> tuple[BoolArray, BoolArray]:
    """Return which answers mean the same, and which contradict each other, both (n, n).

    An answer that does not entail itself steers the judge, and counts as contradicting itself.
    """
    n = len(places)
    if evidence.relations is not None:
        entailment, contradiction = evidence.relations.entailment, evidence.relations.contradiction
        agree = both_ways(entailment, entailment.T) >= AGREEMENT
        against = ~agree & (both_ways(contradiction, contradiction.T) >= AGREEMENT)
        np.fill_diagonal(against, ~np.diagonal(agree))
        return agree, against
    if evidence.answers is None:
        return np.eye(n, dtype=np.bool_), np.zeros((n, n), dtype=np.bool_)
    texts = [evidence.answers[place].text for place in places]
    spelt = np.array([spelling(text) or text for text in texts], dtype=object)
    return np.asarray(spelt[:, np.newaxis] == spelt, dtype=np.bool_), np.zeros((n, n), np.bool_)


def owners_in(document: Document) -> tuple[str, ...]:
    """Return the owner of a document, and the owners that it names as its sources.

    A document without an address has an owner of its own.
    """
    owner = owner_of(document.url) or f"/{document.rank}"
    return (owner, *sorted(cited_in(document.text)))
