"""Requests to search services, and how a search fails."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Final, Literal

from pydantic import ConfigDict

from radarstream.schemas.errors import SearchError
from radarstream.schemas.snapshot import Query

FURTHER_DOCUMENTS: Final = 10  # results of one further search
Engine = Literal["google", "google_light"]


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Days, both included, to which the search service restricts its results."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # when a file is read

    first: date
    last: date

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError(f"{self.first} lies after {self.last}")

    @property
    def last_second(self) -> datetime:
        """The last second of the last day, UTC."""
        return datetime.combine(self.last, time(23, 59, 59), tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search for `k` results (1 to 100) after the first `start`.

    `words`, if not empty, replace the question. `engine` is SerpApi's.

    >>> SearchRequest(Query.from_text("Who leads France?"), k=20, language="en").text
    'Who leads France?'
    """

    query: Query
    k: int = 10
    engine: Engine = "google"
    language: str = ""
    country: str = ""
    dates: DateSpan | None = None
    start: int = 0
    words: str = ""

    @property
    def text(self) -> str:
        """The words to search for."""
        return self.words or self.query.text


class FailureClass(StrEnum):
    """How a search failed; the values label metrics."""

    THROTTLED = "throttled"
    OUT_OF_SEARCHES = "out_of_searches"
    OUT_OF_BUDGET = "out_of_budget"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    REFUSED = "refused"
    STOPPED = "stopped"


# Failures after which the service may still charge for the search.
MAY_HAVE_COST: Final = frozenset({FailureClass.TIMEOUT, FailureClass.MALFORMED})
RETRYABLE: Final = MAY_HAVE_COST | {FailureClass.THROTTLED, FailureClass.UNAVAILABLE}


class SearchFailedError(SearchError):
    """A search failed; `kind` decides `retryable`. Wait `retry_after_s` seconds, as the service
    asks, before the next request.
    """

    def __init__(self, kind: FailureClass, detail: str, retry_after_s: float = 0.0) -> None:
        super().__init__(detail, retryable=kind in RETRYABLE)
        self.kind = kind
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type["SearchFailedError"], tuple[FailureClass, str, float]]:
        return type(self), (self.kind, str(self), self.retry_after_s)
