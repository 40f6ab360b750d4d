"""Stored times in words."""

from datetime import datetime

from radarstream.schemas.times import time_at


def minute(at_ms: int | None) -> str:
    """Date and minute in UTC; empty for no time, and for one that no calendar has.

    >>> minute(1_700_000_000_000)
    '2023-11-14 22:13 UTC'
    """
    try:
        return "" if at_ms is None else f"{time_at(at_ms):%Y-%m-%d %H:%M} UTC"
    except OverflowError:
        return ""


def day(at_ms: int | None) -> str:
    """Date in UTC, as `minute`."""
    return minute(at_ms)[:10]


def format_time(time: datetime) -> str:
    """Date, with the minute in UTC unless it is the day's first or last.

    A yearly history stamps its snapshots with the last second of the year.

    >>> format_time(datetime(2015, 12, 31, 23, 59, 59)), format_time(datetime(2015, 7, 1, 8, 30))
    ('2015-12-31', '2015-07-01 08:30 UTC')
    """
    whole_day = (time.hour, time.minute) in ((0, 0), (23, 59))
    return time.strftime("%Y-%m-%d" if whole_day else "%Y-%m-%d %H:%M UTC")
