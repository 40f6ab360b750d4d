"""How one answer compares with what an evaluator knows, in the classes of the page."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from radarstream.pipelines.evaluation import scoring


class Outcome(StrEnum):
    """What an answer turned out to be; the values are the style classes of the page."""

    CORRECT = "correct"
    FOOLED = "fooled"  # it states a planted falsehood
    OTHER = "other"
    ABSTAINED = "abstained"
    UNLABELLED = "unlabelled"


SHOWN_AS = {
    scoring.Outcome.BOTH: Outcome.FOOLED,
    scoring.Outcome.STALE: Outcome.OTHER,
    scoring.Outcome.ERROR: Outcome.UNLABELLED,
}


def outcome_in(row: Mapping[str, Any] | None) -> Outcome:
    """The class of an answer, given its row in the table of answers."""
    if row is None:
        return Outcome.UNLABELLED
    found = scoring.Outcome(row["outcome"])
    return SHOWN_AS.get(found) or Outcome(found.value)
