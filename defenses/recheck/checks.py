"""What a check of an answer event found."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

TOLERANCE: Final = 1e-6  # of what is computed again


class Outcome(StrEnum):
    """What a check found."""

    RIGHT = "right"
    WRONG = "wrong"
    ABSENT = "absent"  # the event does not hold what the check needs


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what it is about, what it found, and the details."""

    about: str
    outcome: Outcome
    detail: str = ""


def check_of(about: str, flaws: Iterator[str], right: str) -> Check:
    """A check that tells the first flaw, or what was found where there is none.

    Computing from values that nobody computed may fail; that is a flaw, too.
    """
    try:
        flaw = next(flaws, None)
    except (ValueError, ArithmeticError, LookupError) as error:
        flaw = str(error)
    return Check(about, Outcome.RIGHT, right) if flaw is None else Check(about, Outcome.WRONG, flaw)
