"""Checks an answer event against itself: what follows from it is computed again."""

from radarstream.defenses.recheck.checks import Check
from radarstream.defenses.recheck.cut import cut_checks
from radarstream.defenses.recheck.support import status_check, support_check
from radarstream.schemas.events import AnswerEvent


def rechecked(event: AnswerEvent) -> tuple[Check, ...]:
    """Everything about an event that can be computed again from the event alone.

    What the models said is taken as it stands: answers, relations (as capacities), the similarity
    of answers and the written answer cannot be checked without the models.
    """
    return *cut_checks(event), support_check(event), status_check(event)
