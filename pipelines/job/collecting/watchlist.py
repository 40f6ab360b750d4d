"""The list of watched queries: a YAML file, checked as a whole, or the table it was put into.

Every problem is told with its entry and line. A file is plain data, see `plain_yaml`.
"""

import json
import re
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError, model_validator

from radarstream.connectors.serpapi.options import Engine
from radarstream.connectors.serpapi.request import DateSpan, SearchRequest
from radarstream.pipelines.job.collecting.plain_yaml import Place, load_yaml
from radarstream.pipelines.settings.problems import reason
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.section import Section
from radarstream.schemas.snapshot import MOST_SUPPORT, OnEmpty, Query

CADENCE: Final = re.compile(r"([1-9]\d{0,5})(m|h|d|w)")
UNIT_S: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
LONGEST_S: Final = 366 * 86_400
FILE_BYTES: Final = 4 * 2**20
MOST_PROBLEMS: Final = 10
_NORWAY: Final = " (write it in quotes: YAML reads no, on and their like as true or false)"


def cadence_seconds(cadence: str) -> int:
    """Return the seconds of `30m`, `6h`, `1d` or `2w`. ValueError for anything else.

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


class Days(Section):
    """Results are restricted to pages that the search engine dates between these days."""

    first: date
    last: date

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first > self.last:
            raise ValueError("first lies after last")
        return self


class Defaults(Section):
    """How a query is searched for."""

    k: int = Field(default=10, strict=True, ge=1, le=100, description="documents wanted")
    cadence: Cadence = Field(default="1d", description="how often: 30m, 6h, 1d, 2w")
    jitter: float = Field(
        default=0.1, ge=0.0, le=0.5, description="share of the cadence by which a fetch may move"
    )
    language: Language = Field(default="", description="of the search page, such as en; hl")
    country: Country = Field(default="", description="searched from, such as us; gl")
    engine: Engine = "google"
    tags: Annotated[tuple[Tag, ...], Field(max_length=32)] = ()
    min_support: int | None = Field(
        default=None,
        strict=True,
        ge=0,
        le=MOST_SUPPORT,
        description="how many independent sites must say the answer; empty = as the job is set",
    )
    on_empty: OnEmpty | None = Field(
        default=None,
        description="what RADAR does when it keeps no document; empty = as the job is set",
    )
    dates: Days | None = None
    active: Annotated[bool, Field(strict=True)] = True


class Watched(Defaults):
    """One watched query. Without `id`, the question names it."""

    question: Annotated[str, Field(max_length=2_000), AfterValidator(_words)]
    id: Annotated[str, Field(pattern=r"^[^\x00-\x20\x7f-\x9f/]{1,200}$")] | Literal[""] = ""

    @property
    def query(self) -> Query:
        """The query with its id, its tags and what it asks of an answer."""
        query = Query.from_text(self.question)
        query_id = self.id or query.id
        return Query(query_id, self.question, self.tags, self.min_support, self.on_empty)

    @property
    def request(self) -> SearchRequest:
        """What the search service is asked."""
        return SearchRequest(
            query=self.query,
            k=self.k,
            engine=self.engine,
            language=self.language,
            country=self.country,
            dates=DateSpan(self.dates.first, self.dates.last) if self.dates else None,
        )

    def next_due_ms(self, fetched_ms: int) -> int:
        """Return when the query is due again after a fetch at this time.

        One cadence later, moved by at most the jitter either way. How far depends on the query
        and the time alone, so every worker computes the same, and queries that were fetched
        together do not stay together.
        """
        digest = sha256(f"{self.query.id}@{fetched_ms}".encode()).digest()
        share = int.from_bytes(digest[:8]) / 2**63 - 1.0  # -1 .. 1
        cadence = timedelta(seconds=cadence_seconds(self.cadence)) // timedelta(milliseconds=1)
        return fetched_ms + round(cadence * (1.0 + self.jitter * share))


class Watchlist(Section):
    """A watchlist file."""

    defaults: Defaults = Field(
        default=Defaults(), description="for entries that do not say otherwise"
    )
    queries: tuple[Watched, ...]


class _Document(BaseModel):
    """The file before its defaults are laid under the entries."""

    model_config = {"extra": "forbid"}
    defaults: Defaults = Defaults()
    queries: list[dict[str, Any]]


def read_watchlist(file: Path) -> tuple[Watched, ...]:
    """Return the entries of a file, defaults filled in. Raises ConfigurationError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read the watchlist {file}: {error.strerror}") from None
    if len(data) > FILE_BYTES:
        raise ConfigurationError(f"the watchlist {file} is over {FILE_BYTES} bytes")
    return parse_watchlist(data, str(file))


def parse_watchlist(data: bytes, name: str) -> tuple[Watched, ...]:
    """Return the entries of a watchlist's YAML. Raises ConfigurationError, with lines of `name`."""
    lines, value = load_yaml(data, name)
    if not isinstance(value, dict):
        raise ConfigurationError(f"{name}: a watchlist holds `queries:` and perhaps `defaults:`")
    try:
        document = _Document.model_validate(value)
    except ValidationError as error:
        raise _refused(name, lines, error) from None
    base = document.defaults.model_dump(exclude_unset=True)
    filled = [
        base | {key: each for key, each in entry.items() if each is not None}
        for entry in document.queries
    ]
    try:
        entries = TypeAdapter(tuple[Watched, ...]).validate_python(filled)
    except ValidationError as error:
        raise _refused(name, lines, error, ("queries",)) from None
    _refuse_repeats(name, lines, entries)
    return entries


def watchlist_schema() -> dict[str, Any]:
    """JSON Schema of a watchlist file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Watchlist.model_json_schema(),
    }


def table_entries(entries: tuple[Watched, ...]) -> list[tuple[str, str]]:
    """Return (query id, entry as JSON) of the active entries: what the table takes.

    The text is canonical, so that an entry that says the same is the same.
    """
    return [
        (entry.query.id, json.dumps(entry.model_dump(mode="json"), sort_keys=True))
        for entry in entries
        if entry.active
    ]


def entry_of(text: str) -> Watched:
    """Inverse of `table_entries` for one entry. Raises ConfigurationError."""
    try:
        return Watched.model_validate_json(text)
    except ValidationError as error:
        what = error.errors(include_input=False)[0]
        raise ConfigurationError(
            f"an entry of the watchlist table is damaged: {what['msg']}"
        ) from None


def _refused(
    name: str, lines: dict[Place, int], error: ValidationError, under: Place = ()
) -> ConfigurationError:
    found = error.errors(include_url=False)
    told = []
    for problem in found[:MOST_PROBLEMS]:
        place = (*under, *problem["loc"])
        hint = _NORWAY if isinstance(problem["input"], bool) else ""
        told.append(f"{_where(lines, place)} {reason(problem)}{hint}")
    if len(found) > MOST_PROBLEMS:
        told.append(f"and {len(found) - MOST_PROBLEMS} more")
    return ConfigurationError(f"{name}: {'; '.join(told)}")


def _where(lines: dict[Place, int], place: Place) -> str:
    """For example `line 7, query 2, cadence`; the nearest line that is known."""
    line = next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), 1)
    words = [f"line {line}"]
    if place[:1] == ("queries",) and len(place) > 1:
        words.append(f"query {int(place[1]) + 1}")
        place = place[2:]
    return ", ".join([*words, *(str(part) for part in place)])


def _refuse_repeats(name: str, lines: dict[Place, int], entries: tuple[Watched, ...]) -> None:
    first: dict[str, int] = {}
    for number, entry in enumerate(entries):
        earlier = first.setdefault(entry.query.id, number)
        if earlier != number:
            where, there = (lines.get(("queries", n), 1) for n in (number, earlier))
            raise ConfigurationError(
                f"{name}: line {where}, query {number + 1}: the same id as on line {there}; give "
                "one of them an id of its own"
            )
