"""Users of the service: roles, recent questions and trust.

Trust is in [0, 1] and moves as in ADO, section 4.4: S(t+1) = clip(S(t) + delta, 0, 1), S(0) = .5.
In the paper one question can gain .2, so that three benign questions pay for an attack. Here the
gains of an hour are limited; a loss does not raise that limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import isfinite
from typing import Final

from radarstream.schemas.names import plain_name

RECENT_QUESTIONS: Final = 5  # kept per user
LONGEST_NAME: Final = 100  # characters

START: Final = 0.5
_MINUTE_MS: Final = 60_000
_MINUTES: Final = 60


class Role(StrEnum):
    """What a user may do. A role includes no other."""

    ASK = "ask"  # ask questions, read answers and their history
    REPORT = "report"  # complain about an answer
    OPERATE = "operate"  # decide about incidents, sources and dead letters; sees the action log


def user_name(name: str) -> str:
    """Normalise a user's name: NFKC, case folded.

    >>> user_name("Eve") == user_name("eve")
    True
    """
    return plain_name(plain_name(name).casefold())


@dataclass(frozen=True, slots=True)
class Account:
    """A user's trust, and the last questions with their times, oldest first."""

    trust: float = START
    recent: Sequence[tuple[datetime, str]] = ()


@dataclass(frozen=True, slots=True)
class UserTrust:
    """A user's trust, and its gains of the last hour as (minute since 1970, gain), oldest first."""

    value: float = START
    gains: tuple[tuple[int, float], ...] = ()

    def moved(self, delta: float, at_ms: int, gain_per_hour: float) -> "UserTrust":
        """Return the trust after `delta` at `at_ms`, in milliseconds since 1970.

        The gains within any 60 minutes never exceed `gain_per_hour`; they are counted by the
        minute. A time before the last gain counts as the same hour. Raises ValueError if `delta`
        is not finite.

        >>> trust = UserTrust().moved(0.08, 0, 0.1).moved(0.08, 1_000, 0.1)
        >>> round(trust.value, 2), round(trust.moved(-0.05, 2_000, 0.1).value, 2)
        (0.6, 0.55)
        """
        if not isfinite(delta):
            raise ValueError(f"trust cannot move by {delta}")
        minute = -(-at_ms // _MINUTE_MS)
        recent = {when: gain for when, gain in self.gains if when > minute - _MINUTES - 1}
        if delta > 0:
            left = gain_per_hour - sum(recent.values())
            delta = max(0.0, min(delta, left, 1.0 - self.value))
            if delta > 0:
                recent[minute] = recent.get(minute, 0.0) + delta
        value = min(1.0, max(0.0, self.value + delta))
        return UserTrust(value, tuple(sorted(recent.items())))
