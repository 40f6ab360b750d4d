"""Clocks, and times in storage (whole milliseconds since 1970-01-01 UTC) and on the wire."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Annotated, Final, Protocol

from pydantic import AwareDatetime, PlainSerializer

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
CALENDAR_MS: Final = range(-62_135_596_800_000, 253_402_300_800_000)  # the years 1 to 9999
_MILLISECOND: Final = timedelta(milliseconds=1)
# The text of a page cannot match it, because quotes inside a JSON string are escaped.
_EVENT_TIME: Final = re.compile(rb'"observed_at"\s*:\s*"([0-9T:.+Z-]{20,40})"')


class Clock(Protocol):
    """A clock, which tests replace."""

    def now(self) -> datetime:
        """Return the wall clock in UTC: for ages and for event times in the future only."""

    def monotonic(self) -> float:
        """Return seconds since some moment; they never decrease."""

    def wait(self, seconds: float) -> None:
        """Pause; return early when the process is asked to stop."""


class SystemClock:
    """The clocks of the machine; `pause(seconds)` waits, and may return early."""

    def __init__(self, pause: Callable[[float], object]) -> None:
        self._pause = pause

    def now(self) -> datetime:
        """Return the wall clock in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since some moment."""
        return monotonic()

    def wait(self, seconds: float) -> None:
        """Pause."""
        self._pause(seconds)


def milliseconds(time: datetime) -> int:
    """Return whole milliseconds since the epoch, rounded down.

    >>> milliseconds(datetime(2015, 12, 31, 23, 59, 59, 999, UTC))
    1451606399000
    """
    return (time - EPOCH) // _MILLISECOND


def now_ms() -> int:
    """Return the present time in whole milliseconds since the epoch."""
    return milliseconds(datetime.now(UTC))


def time_at(since_epoch_ms: int) -> datetime:
    """Invert `milliseconds`. Raises OverflowError outside the years 1 to 9999."""
    return EPOCH + since_epoch_ms * _MILLISECOND


def whole_milliseconds(time: datetime) -> datetime:
    """Cut a time to whole milliseconds, as on the wire."""
    return time.replace(microsecond=time.microsecond // 1_000 * 1_000)


def wire_time(time: datetime) -> str:
    """Write a time by RFC 3339, in UTC with milliseconds.

    >>> wire_time(time_at(1_451_606_399_000))
    '2015-12-31T23:59:59.000Z'
    """
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def stored_time(since_epoch_ms: int) -> str:
    """Write a stored time as `wire_time`; one outside the calendar, in a damaged row, as a number.

    >>> stored_time(10**18)
    '1000000000000000000 ms'
    """
    try:
        return wire_time(time_at(since_epoch_ms))
    except OverflowError:
        return f"{since_epoch_ms} ms"


# A time on the wire: aware, written by `wire_time`.
Moment = Annotated[AwareDatetime, PlainSerializer(wire_time, return_type=str, when_used="json")]


def event_time(payload: bytes) -> datetime | None:
    """Read a snapshot's event time without decoding it; None without one.

    >>> event_time(b'{"schema":"search.snapshot/1","observed_at":"2025-06-01T12:00:00.000Z"}')
    datetime.datetime(2025, 6, 1, 12, 0, tzinfo=datetime.timezone.utc)
    """
    found = _EVENT_TIME.search(payload)
    if found is None:
        return None
    try:
        time = datetime.fromisoformat(found[1].decode())
    except ValueError:
        return None
    return time if time.tzinfo else None
