"""What a check of an answer event found."""

from dataclasses import dataclass
from enum import StrEnum


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
