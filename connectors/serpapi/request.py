"""What is searched for."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from radarstream.connectors.serpapi.options import RESULTS_PER_PAGE, Engine
from radarstream.schemas.snapshot import Query


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Days, both included, to which the search engine restricts its results."""

    first: date
    last: date

    def __post_init__(self) -> None:
        if self.first > self.last:
            raise ValueError(f"{self.first} lies after {self.last}")

    @property
    def tbs(self) -> str:
        """The search engine's parameter."""
        days = (f"{day.month}/{day.day}/{day.year}" for day in (self.first, self.last))
        return "cdr:1,cd_min:{},cd_max:{}".format(*days)

    @property
    def last_second(self) -> datetime:
        """The last second of the last day, UTC."""
        return datetime.combine(self.last, time(23, 59, 59), tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is searched for, and how many results (1..100) are wanted after the first `start`.

    `words`, if there are any, are searched for in place of the question.
    """

    query: Query
    k: int = RESULTS_PER_PAGE
    engine: Engine = "google"
    language: str = ""
    country: str = ""
    dates: DateSpan | None = None
    start: int = 0
    words: str = ""

    @property
    def pages(self) -> int:
        """Pages, and so credits, that it needs when nothing fails."""
        return -(-self.k // RESULTS_PER_PAGE)

    def parameters(self, page: int) -> dict[str, str]:
        """Return the service's parameters for a page, counted from 0."""
        wanted = {
            "engine": self.engine,
            "q": self.words or self.query.text,
            "hl": self.language,
            "gl": self.country,
            "tbs": self.dates.tbs if self.dates else "",
            "start": str(start) if (start := self.start + page * RESULTS_PER_PAGE) else "",
        }
        return {name: value for name, value in wanted.items() if value}
