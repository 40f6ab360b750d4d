"""SerpApi: the results of Google, 10 a page. https://serpapi.com/search-api"""

import re
from dataclasses import replace
from datetime import date, datetime
from typing import Any, ClassVar, Final

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.connectors.search.results import documents, listed
from radarstream.connectors.search.service import Answer, Call, Failure, Page, Reply, SearchService
from radarstream.schemas.searching import FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import STRICT

ARCHIVE_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
FAILED: Final = ("Error", "Queued", "Processing")  # statuses that may change by the next attempt
NOTHING_FOUND: Final = "hasn't returned any results"
USED_UP: Final = "run out of searches"


@checked_dataclass(frozen=True, config=STRICT)
class SerpApi(SearchService):
    """Searches by SerpApi. The key is in the address."""

    name: ClassVar = "serpapi"
    title: ClassVar = "SerpApi"
    base_url: ClassVar = "https://serpapi.com"
    key_variable: ClassVar = "SERPAPI_KEY"
    check: ClassVar = Call("/account")

    def call(self, request: SearchRequest, page: int) -> Call:
        """Return the request of a page."""
        span = request.dates
        parameters = {
            "engine": request.engine,
            "q": request.text,
            "hl": request.language,
            "gl": request.country,
            "tbs": f"cdr:1,cd_min:{_day(span.first)},cd_max:{_day(span.last)}" if span else "",
            "start": str(page * self.per_page) if page else "",
        }
        return Call("/search", parameters)

    def engine(self, request: SearchRequest) -> str:
        """Return the search engine that SerpApi asks."""
        return request.engine

    def signed(self, call: Call, key: str) -> Call:
        """Add the key to a request."""
        return replace(call, parameters={**call.parameters, "api_key": key})

    def read(self, answer: Answer, page: int, seen_at: datetime) -> Page:
        """Read the organic results."""
        del page
        metadata = _object(answer.get("search_metadata"))
        error = answer.get("error")
        nothing = isinstance(error, str) and NOTHING_FOUND in error
        if not nothing and (error or metadata.get("status") in FAILED):
            detail = "SerpApi reports a failure"
            raise SearchFailedError(FailureClass.UNAVAILABLE, detail)
        if not nothing and metadata.get("status") != "Success":
            raise self.malformed()
        entries = [] if nothing else listed(answer, "organic_results") or []
        results = documents(entries, seen_at, url="link", text="snippet", date="date")
        more = bool(_object(answer.get("serpapi_pagination")).get("next"))
        archive_id = str(metadata.get("id"))
        return Page(results, more, archive_id if ARCHIVE_ID.fullmatch(archive_id) else "")

    def failure(self, reply: Reply, variable: str) -> Failure:
        """Return the error of a status; the message decides which of two meanings 429 has."""
        if reply.status == 429 and USED_UP in str(reply.answer.get("error")).lower():
            return self.out_of_searches()
        return super().failure(reply, variable)


def _day(day: date) -> str:
    return f"{day.month}/{day.day}/{day.year}"


def _object(value: Any) -> Answer:
    return value if isinstance(value, dict) else {}
