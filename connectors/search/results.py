"""Turns search results into ranked documents.

Results are untrusted: other values than texts are dropped, long texts are cut, and equal addresses
in any spelling count once.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from radarstream.connectors.search.service import Answer
from radarstream.schemas.codec import clean
from radarstream.schemas.snapshot import Document

TEXT_CHARACTERS: Final = 20_000
TITLE_CHARACTERS: Final = 500
URL_CHARACTERS: Final = 2_000
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
TRACKING: Final = re.compile(r"utm_\w+|gclid|fbclid|msclkid|dclid|srsltid", re.IGNORECASE)
WEB: Final = re.compile(r"https?://", re.IGNORECASE)
EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC)
FORMS: Final = ("%b %d, %Y", "%a, %d %b %Y %H:%M:%S %Z")  # of dates, besides ISO 8601


def listed(answer: Answer, *path: str) -> list[Answer] | None:
    """Return the JSON objects of the list at a path inside an answer; None without a list."""
    place: object = answer
    for name in path:
        place = place.get(name) if isinstance(place, dict) else None
    return (
        [entry for entry in place if isinstance(entry, dict)] if isinstance(place, list) else None
    )


def documents(
    entries: Iterable[Answer], seen_at: datetime, *, url: str, text: str, date: str
) -> list[Document]:
    """Read results from the members `url`, `text` and `date` of entries, sorted by rank.

    The rank is the `position` of an entry, else its place. Results without a web address are left
    out, because each would count as an independent site.
    """
    read = [
        Document(
            rank=_rank(entry.get("position"), place),
            title=_text(entry.get("title"), TITLE_CHARACTERS),
            url=_address(entry.get(url)),
            text=_text(entry.get(text), TEXT_CHARACTERS),
            published_at=published_at(_text(entry.get(date), 40), seen_at),
        )
        for place, entry in enumerate(entries, start=1)
    ]
    return sorted((result for result in read if result.url), key=lambda result: result.rank)


def distinct(results: Iterable[Document], most: int) -> tuple[Document, ...]:
    """Rank at most `most` results 1, 2, ..., the first of each address and all without one."""
    seen: set[str] = set()
    kept = []
    for result in results:
        address = canonical_url(result.url)
        if address not in seen or not address:
            kept.append(result)
        seen.add(address)
    return tuple(replace(result, rank=rank) for rank, result in enumerate(kept[:most], start=1))


def canonical_url(url: str) -> str:
    """Return one spelling for addresses of the same page; an invalid address stays.

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
    """Read a date of the forms `Mar 5, 2024`, `2024-03-05…` or `Tue, 05 Mar 2024 10:00:00 GMT`.

    Returns midnight UTC of that day; None for relative dates and other languages, and for a day
    that had not begun anywhere at `seen_at`.
    """
    for form in (None, *FORMS):
        with suppress(ValueError):
            stripped = text.strip()
            date = datetime.strptime(stripped, form) if form else datetime.fromisoformat(stripped)  # noqa: DTZ007
            day = datetime(date.year, date.month, date.day, tzinfo=UTC)
            return day if EARLIEST <= day <= seen_at + timedelta(hours=14) else None
    return None


def _rank(position: object, place: int) -> int:
    """Return the position that a service gives, if it is a positive integer, else the place."""
    return position if type(position) is int and position > 0 else place


def _address(value: object) -> str:
    """Return a web address; "" for others and for too long ones, which cannot be cut."""
    url = _text(value, URL_CHARACTERS + 1)
    return url if len(url) <= URL_CHARACTERS and WEB.match(url) else ""


def _text(value: object, limit: int) -> str:
    return clean(value[:limit]).strip() if isinstance(value, str) else ""
