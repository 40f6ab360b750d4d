"""How many documents change the set that ReliabilityRAG keeps, whatever they contradict."""

from math import ceil

from radarstream.defenses.certificates.parts import proved, seen_documents, unproved
from radarstream.defenses.reliability_rag import MOST_DOCUMENTS, ReliabilityRag
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
from radarstream.schemas.verdict import Reason


def certify_independent_set(defense: ReliabilityRag, event: AnswerEvent) -> Certificate:
    """Bounds on the largest set without contradictions, from the sizes of what is kept and not."""
    documents = seen_documents(event)
    kept = sum(document.reason is Reason.SUPPORTED for document in documents)
    rejected = sum(document.reason is Reason.CONTRADICTED for document in documents)
    if event.verdict.abstained:
        return unproved(defense, "there is no answer to change")
    if defense.method not in ("auto", "exact"):
        return unproved(defense, "only the exact method has a proof")
    if len(documents) > MOST_DOCUMENTS:
        return unproved(defense, "the answer is drawn from samples, which have no bound")
    if defense.edge_flip:
        return unproved(defense, "edges are turned round at random")
    if not kept:
        return unproved(defense, "no document answers by itself, so all were passed on")
    room = MOST_DOCUMENTS - len(documents)  # with more, another method answers
    needed = min(max(1, ceil(kept / 2) - rejected), room + 1)
    enough = ceil(kept / 2)
    added = Enough(enough, 1, Attack.SPLIT) if enough <= room else None
    replaced = fewest_replaced(kept, rejected)
    bounds = [
        FlipBound(Change.ADDED, False, Needed(needed), added),
        FlipBound(
            Change.REPLACED,
            False,
            Needed(max(1, ceil((kept - 2 * rejected) / 3))),
            Enough(replaced, 1, Attack.SPLIT),
        ),
    ]
    return proved(defense, bounds, [Assumption.WRITTEN, Assumption.FIXED])


def fewest_replaced(kept: int, rejected: int) -> int:
    """How many replaced documents surely suffice.

    They contradict all rejected documents and so many of the kept ones that a set with all of them
    is still a largest one. At the top ranks they win ties.
    """
    for liars in range(1, kept + 1):
        rival = min(kept, kept - liars + rejected)  # the largest set that has none of them
        contradicted = max(0, kept - rival)
        if kept - liars - contradicted <= liars:
            return liars
    return kept
