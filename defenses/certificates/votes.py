"""How many documents change the winner of a vote. Exact: no fewer, and so many do."""

from collections import Counter
from math import ceil

from radarstream.defenses.certificates.parts import proved, seen_documents, unproved
from radarstream.defenses.majority import Majority
from radarstream.schemas.answer_text import spelling
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


def certify_majority(defense: Majority, event: AnswerEvent) -> Certificate:
    """The lead of the winner: an added vote makes up one of it, a replaced one two.

    An attacker at the first rank wins ties.
    """
    if event.verdict.abstained:
        return unproved(defense, "there is no answer to change")
    texts = [document.atomic_answer for document in seen_documents(event)]
    votes = Counter(ballot(text) for text in texts if text is not None)
    winner, previous = ballot(event.answer), event.verdict.memory.previous_answer
    bounds = []
    for remembering in (True, False) if previous is not None else (False,):
        counted = votes.copy()
        if remembering and previous is not None:
            counted[ballot(previous)] += 1
        runner_up = max((count for vote, count in counted.items() if vote != winner), default=0)
        lead = counted[winner] - runner_up
        for change, least in ((Change.ADDED, lead), (Change.REPLACED, ceil(lead / 2))):
            documents = max(1, least)
            attack = Attack.JOINED_CLAIM if runner_up else Attack.NEW_CLAIM
            enough = Enough(documents, 1, attack)
            bounds.append(FlipBound(change, remembering, Needed(documents), enough))
    return proved(defense, bounds, [Assumption.FIXED])


def ballot(text: str) -> str:
    """What an answer votes for."""
    return spelling(text) or text
