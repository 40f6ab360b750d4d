"""Checks an answer event against itself: computes again what follows from its other values."""

import json

from radarstream.defenses.options import options_of
from radarstream.defenses.recheck.checks import Check, Outcome, record_check
from radarstream.defenses.recheck.cut import cut_checks
from radarstream.defenses.recheck.support import status_check, support_check
from radarstream.defenses.registry import build_defense
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.events import AnswerEvent


def rechecked(event: AnswerEvent) -> tuple[Check, ...]:
    """Check every value that follows from others of the event; `given.not_checked` has the rest."""
    try:
        defense = build_defense(event.defense, json.loads(event.options))
    except (ConfigurationError, ValueError, TypeError, RecursionError) as error:
        return (Check("record", Outcome.WRONG, f"no such defence: {error}"),)
    if options_of(defense) != event.options:
        return (Check("record", Outcome.WRONG, "options are missing"),)
    return (
        record_check(event),
        *cut_checks(event, defense),
        support_check(event, defense),
        status_check(event, defense),
    )
