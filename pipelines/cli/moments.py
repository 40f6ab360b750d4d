"""Moments as a user types them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from radarstream.schemas.errors import ConfigurationError

AGO = re.compile(r"([0-9]{1,6})([smhd])")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def moment(text: str, option: str, now: datetime, also: Sequence[str] = ()) -> datetime:
    """Read a date, a time (UTC unless it says otherwise) or a span before `now` such as 90m or 2d.

    `also` are the other words that the option takes, for the message of the ConfigurationError.

    >>> moment("36h", "--since", datetime(2025, 6, 2, 12, tzinfo=UTC)).isoformat()
    '2025-06-01T00:00:00+00:00'
    """
    ago = AGO.fullmatch(text)
    try:
        if ago is not None:
            return now - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        read = datetime.fromisoformat(text)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        words = "".join(f"{word}, " for word in also) + ("or " if also else "")
        raise ConfigurationError(
            f"{option} must be {words}a time such as 2025-06-01, 2025-06-01T12:00 or 90m, "
            f"got {text!r}"
        ) from None
