"""How many documents change the words that RobustRAG shows to the generator. Exact."""

from dataclasses import dataclass

from radarstream.defenses.certificates.parts import proved, seen_documents, unproved
from radarstream.defenses.robust_rag import COUNTING_SLACK, RobustRag
from radarstream.schemas.certificate import (
    Assumption,
    Attack,
    Certificate,
    Change,
    Enough,
    FlipBound,
    Needed,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AtomicAnswer


@dataclass(frozen=True, slots=True)
class Tally:
    """Which numbers of answers share a phrase, how many are heard, and how many are not."""

    defense: RobustRag
    counts: frozenset[float]
    heard: int
    silent: int

    def threshold(self, answers: int) -> float:
        """How many answers must share a phrase that is shown."""
        return self.defense.threshold(answers) - COUNTING_SLACK


def certify_keywords(defense: RobustRag, event: AnswerEvent) -> Certificate:
    """The fewest documents with which a phrase crosses the threshold, in either direction.

    `robust_rag.certify` proves more, at the price of asking the generator.
    """
    if event.verdict.abstained:
        return unproved(defense, "there is no answer to change")
    if defense.gamma is not None:
        return unproved(defense, "keyword counts weighted by rank have no certificate")
    texts = [document.atomic_answer for document in seen_documents(event)]
    voices = [defense.voice(AtomicAnswer(text or "", text is None)) for text in texts]
    heard = sum(map(bool, voices))
    counts = frozenset(defense.counts(voices).values())
    tally = Tally(defense, counts, heard, len(voices) - heard)
    bounds = []
    for change in Change:
        most = len(voices) if change is Change.REPLACED else 2 * len(voices) + 1
        crossing = (m for m in range(1, most + 1) if crosses(tally, m, change))
        documents = next(crossing, None)
        if documents is None:
            bounds.append(FlipBound(change, False, Needed(most), None))
        else:
            enough = Enough(documents, 1, Attack.NEW_CLAIM)
            bounds.append(FlipBound(change, False, Needed(documents), enough))
    return proved(defense, bounds, [Assumption.KEYWORDS, Assumption.FIXED])


def crosses(tally: Tally, documents: int, change: Change) -> bool:
    """Whether so many documents, silent ones among them, can move a phrase across the threshold."""
    least_gone = max(0, documents - tally.silent) if change is Change.REPLACED else 0
    most_gone = min(documents, tally.heard) if change is Change.REPLACED else 0
    return any(
        crossed(tally, gone, speaking)
        for gone in range(least_gone, most_gone + 1)
        for speaking in range(documents + 1)
    )


def crossed(tally: Tally, gone: int, speaking: int) -> bool:
    """Whether a phrase can cross when so many heard answers go and so many others come."""
    before = tally.threshold(tally.heard)
    after = tally.threshold(tally.heard - gone + speaking)
    if speaking > 0 and speaking >= after:  # a phrase of their own
        return True
    for count in tally.counts:
        if count >= before:
            if count - min(gone, count) < after:
                return True
        elif count - max(0.0, gone - (tally.heard - count)) + speaking >= after:
            return True
    return False
