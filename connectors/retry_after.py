"""Reads the header Retry-After of RFC 9110, section 10.2.3: how long to wait."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

LONGEST_S: Final = 3_600.0  # longer pauses are cut to an hour
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds of Retry-After, at most LONGEST_S; None without a readable value.

    The value is a number or an HTTP date. A date counts from the service's clock (the header Date),
    which may differ from ours, else from `now`. No header raises an error.

    >>> retry_after_s({"retry-after": "2.5"}), retry_after_s({"retry-after": "soon"})
    (2.5, None)
    """
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), LONGEST_S)
    moment = _http_date(value)
    if moment is None:
        return None
    sent_at = _http_date(headers.get("date", "")) or now or datetime.now(UTC)
    return min(max(0.0, (moment - sent_at).total_seconds()), LONGEST_S)


def _http_date(value: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
