"""Pages of search results to ranked documents.

Results are untrusted: what is not text is dropped, what is too long is cut, an address that was
seen before, however it is spelled, counts once.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
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
FORMS: Final = ("%b %d, %Y", "%a, %d %b %Y %H:%M:%S %Z")  # beside ISO 8601


def listed(answer: Answer, *path: str) -> list[Answer] | None:
    """The JSON objects of a list inside an answer, whatever else is in it; None where none is."""
    place: object = answer
    for name in path:
        place = place.get(name) if isinstance(place, dict) else None
    return (
        [entry for entry in place if isinstance(entry, dict)] if isinstance(place, list) else None
    )


def documents(
    entries: Iterable[Answer], seen_at: datetime, *, url: str, text: str, date: str
) -> list[Document]:
    """The results by rank, from the members of these names. The rank is the `position` of an entry,
    else its place. What has no address of the web is left out: without one it would be a site of
    its own, and many of them many voices.
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
    """Read a date only when it can mean one day: `Mar 5, 2024`, `2024-03-05…` or
    `Tue, 05 Mar 2024 10:00:00 GMT`; else None.

    Midnight UTC of that day. Relative dates and other languages are not guessed at, and a day
    that had not begun anywhere when the result was seen is no date of publication.
    """
    parse: Sequence[Callable[[str], datetime]] = (
        datetime.fromisoformat,
        *(partial(_in_form, form) for form in FORMS),
    )
    for read in parse:
        with suppress(ValueError):
            date = read(text.strip())
            day = datetime(date.year, date.month, date.day, tzinfo=UTC)
            return day if EARLIEST <= day <= seen_at + timedelta(hours=14) else None
    return None


def _in_form(form: str, text: str) -> datetime:
    return datetime.strptime(text, form).replace(tzinfo=UTC)


def _rank(position: object, place: int) -> int:
    """The position that a service gives, if it is a number; true is none, nor is infinity."""
    return position if type(position) is int and position > 0 else place


def _address(value: object) -> str:
    """An address of the web; empty for any other, and for a long one: half leads elsewhere."""
    url = _text(value, URL_CHARACTERS + 1)
    return url if len(url) <= URL_CHARACTERS and WEB.match(url) else ""


def _text(value: object, limit: int) -> str:
    return clean(value[:limit]).strip() if isinstance(value, str) else ""
