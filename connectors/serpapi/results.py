"""Pages of search results to ranked documents.

Results are untrusted: what is not text is dropped, what is too long is cut, an address that was
seen before, however it is spelled, counts once.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from radarstream.schemas.codec import clean
from radarstream.schemas.snapshot import Document

TEXT_CHARACTERS: Final = 20_000
TITLE_CHARACTERS: Final = 500
URL_CHARACTERS: Final = 2_000
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
TRACKING: Final = re.compile(r"utm_\w+|gclid|fbclid|msclkid|dclid|srsltid", re.IGNORECASE)
EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC)
Answer = Mapping[str, Any]  # a JSON object of the service


def page_results(answer: Answer, seen_at: datetime) -> list[Document]:
    """Return a page's organic results by rank; what is no result is left out."""
    entries = answer.get("organic_results")
    if not isinstance(entries, list):
        return []
    read = [
        _result(entry, place, seen_at)
        for place, entry in enumerate(entries, start=1)
        if isinstance(entry, dict)
    ]
    usable = [result for result in read if result.url or result.text]
    return sorted(usable, key=lambda result: result.rank)


def distinct(results: Iterable[Document], most: int) -> tuple[Document, ...]:
    """Rank at most so many results 1, 2, ...: of those with the same address the first.

    Results without an address are all kept.
    """
    seen: set[str] = set()
    kept = []
    for result in results:
        address = canonical_url(result.url)
        if address not in seen or not address:
            kept.append(result)
        seen.add(address)
    return tuple(replace(result, rank=rank) for rank, result in enumerate(kept[:most], start=1))


def canonical_url(url: str) -> str:
    """Return one spelling for addresses that name the same page; the text itself if it is odd.

    >>> canonical_url("HTTP://Example.org:80/a/?utm_source=x&b=1#top")
    'example.org/a?b=1'
    """
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return url
    if not host:
        return url
    place = host if port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"
    kept = [
        pair
        for pair in parse_qsl(parts.query, keep_blank_values=True)
        if not TRACKING.fullmatch(pair[0])
    ]
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{place}{parts.path.rstrip('/')}{query}"


def published_at(text: str, seen_at: datetime) -> datetime | None:
    """Read a date only when it can mean one day: `Mar 5, 2024` or `2024-03-05…`; else None.

    Midnight UTC of that day. Relative dates and other languages are not guessed at, and a day
    that had not begun anywhere when the result was seen is no date of publication.
    """
    for read in (
        datetime.fromisoformat,
        lambda said: datetime.strptime(said, "%b %d, %Y").replace(tzinfo=UTC),
    ):
        with suppress(ValueError):
            told = read(text.strip())
            day = datetime(told.year, told.month, told.day, tzinfo=UTC)
            return day if EARLIEST <= day <= seen_at + timedelta(hours=14) else None
    return None


def _result(entry: Mapping[str, Any], place: int, seen_at: datetime) -> Document:
    position = entry.get("position")
    url = _text(entry.get("link"), URL_CHARACTERS + 1)
    return Document(
        rank=position if isinstance(position, int) and position > 0 else place,
        title=_text(entry.get("title"), TITLE_CHARACTERS),
        url=url if len(url) <= URL_CHARACTERS else "",  # half an address leads elsewhere
        text=_text(entry.get("snippet"), TEXT_CHARACTERS),
        published_at=published_at(_text(entry.get("date"), 40), seen_at),
    )


def _text(value: object, limit: int) -> str:
    return clean(value[:limit]).strip() if isinstance(value, str) else ""
