"""Stored times in words."""

from datetime import datetime

from radarstream.schemas.times import time_at


def minute(at_ms: int) -> str:
    """Date and minute in UTC; empty for a time that no calendar has.

    >>> minute(1_700_000_000_000)
    '2023-11-14 22:13'
    """
    try:
        return f"{time_at(at_ms):%Y-%m-%d %H:%M}"
    except OverflowError:
        return ""


def day(at_ms: int) -> str:
    """Date in UTC, as `minute`."""
    return minute(at_ms)[:10]


def format_time(time: datetime) -> str:
    """Date, with the minute where it is not midnight; event times are UTC throughout."""
    midnight = (time.hour, time.minute, time.second) == (0, 0, 0)
    return time.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M")
