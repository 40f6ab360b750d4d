"""Entries of the watchlist: how a query is searched for, and its JSON in the table."""

import json
import re
from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, ValidationError

from radarstream.schemas.codec import clean
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import DateSpan, Engine, SearchRequest
from radarstream.schemas.section import Section
from radarstream.schemas.snapshot import MOST_LYING, Query

CADENCE: Final = re.compile(r"([1-9]\d{0,5})(m|h|d|w)")
UNIT_S: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
LONGEST_S: Final = 366 * 86_400


def cadence_seconds(cadence: str) -> int:
    """Return the seconds of `30m`, `6h`, `1d` or `2w`. Raises ValueError for anything else.

    >>> cadence_seconds("6h")
    21600
    """
    match = CADENCE.fullmatch(cadence)
    seconds = int(match[1]) * UNIT_S[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_S:
        raise ValueError("must be a span such as 30m, 6h, 1d or 2w, at most 366d")
    return seconds


def _cadence(text: str) -> str:
    cadence_seconds(text)
    return text


def _words(text: str) -> str:
    if clean(text) != text or not text.strip():
        raise ValueError("must be text without control characters")
    return text.strip()


Cadence = Annotated[
    str, AfterValidator(_cadence), Field(json_schema_extra={"pattern": f"^{CADENCE.pattern}$"})
]
Language = Annotated[str, Field(pattern=r"^([a-z]{2,3}(-[A-Za-z]{2,4})?)?$")]
Country = Annotated[str, Field(pattern=r"^([a-z]{2})?$")]
Tag = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_words)]


class Defaults(Section):
    """How a query is searched for."""

    k: int = Field(default=10, strict=True, ge=1, le=100)
    """number of documents"""
    cadence: Cadence = "1d"
    """time between fetches: 30m, 6h, 1d, 2w"""
    jitter: float = Field(default=0.1, ge=0.0, le=0.5)
    """share of the cadence by which a fetch may move"""
    language: Language = ""
    """of the search page, such as en; hl"""
    country: Country = ""
    """searched from, such as us; gl"""
    engine: Engine = "google"
    tags: Annotated[tuple[Tag, ...], Field(max_length=32)] = ()
    withstand: int | None = Field(default=None, strict=True, ge=0, le=MOST_LYING)
    """how many of the sites that are read may lie; empty = the setting of the job"""
    dates: DateSpan | None = None
    active: Annotated[bool, Field(strict=True)] = True


class Watched(Defaults):
    """One watched query. Without `id`, the id comes from the question."""

    question: Annotated[str, Field(max_length=2_000), AfterValidator(_words)]
    id: Annotated[str, Field(pattern=r"^[^\x00-\x20\x7f-\x9f/]{1,200}$")] | Literal[""] = ""

    @property
    def query(self) -> Query:
        """The query of the entry."""
        query = Query.from_text(self.question)
        query_id = self.id or query.id
        return Query(query_id, self.question, self.tags, self.withstand)

    @property
    def request(self) -> SearchRequest:
        """The request to the search service."""
        return SearchRequest(
            query=self.query,
            k=self.k,
            engine=self.engine,
            language=self.language,
            country=self.country,
            dates=self.dates,
        )

    def next_due_ms(self, fetched_ms: int) -> int:
        """Return when the query is due after a fetch: one cadence later, moved by at most the
        jitter, so that queries spread out. Every worker computes the same time.
        """
        digest = sha256(f"{self.query.id}@{fetched_ms}".encode()).digest()
        share = int.from_bytes(digest[:8]) / 2**63 - 1.0  # -1 .. 1
        cadence = timedelta(seconds=cadence_seconds(self.cadence)) // timedelta(milliseconds=1)
        return fetched_ms + round(cadence * (1.0 + self.jitter * share))


def table_entries(entries: tuple[Watched, ...]) -> list[tuple[str, str]]:
    """Return (query id, canonical JSON) of the active entries, for the table."""
    return [
        (entry.query.id, json.dumps(entry.model_dump(mode="json"), sort_keys=True))
        for entry in entries
        if entry.active
    ]


def entry_of(text: str) -> Watched:
    """Invert `table_entries` for one entry. Raises ConfigurationError."""
    try:
        return Watched.model_validate_json(text)
    except ValidationError as error:
        what = error.errors(include_input=False)[0]
        raise ConfigurationError(
            f"an entry of the watchlist table is damaged: {what['msg']}"
        ) from None
