"""A snapshot's event time without decoding it: for those who only wait or order by it."""

import re
from datetime import datetime

# A quote inside a JSON string is escaped, so the text of a page cannot look like this.
_EVENT_TIME = re.compile(rb'"observed_at"\s*:\s*"([0-9T:.+Z-]{20,40})"')


def event_time(payload: bytes) -> datetime | None:
    """Read a snapshot's event time without decoding it; None when it says none.

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
