"""Who uses the service, and what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from radarstream.schemas.names import plain_name

RECENT_QUESTIONS: Final = 5  # that are kept of a user
LONGEST_NAME: Final = 100  # characters


class Role(StrEnum):
    """What a user may do. A role includes no other."""

    ASK = "ask"  # ask questions, read answers and their history
    REPORT = "report"  # complain about an answer
    OPERATE = "operate"  # decide about incidents, sources and dead letters; sees the action log


def user_name(name: str) -> str:
    """The one spelling of a user's name: NFKC, case folded.

    >>> user_name("Eve") == user_name("eve")
    True
    """
    return plain_name(plain_name(name).casefold())


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a user. `recent` are the last questions with their times, oldest first."""

    trust: float = 0.5
    recent: Sequence[tuple[datetime, str]] = ()
