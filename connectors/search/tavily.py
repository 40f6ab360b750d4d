"""Tavily: one page of at most 20 results, with longer excerpts.

https://docs.tavily.com/documentation/api-reference/endpoint/search
"""

from datetime import datetime
from typing import ClassVar, Final

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.connectors.search.results import documents, listed
from radarstream.connectors.search.service import Answer, Call, Failure, Page, Reply, SearchService
from radarstream.schemas.searching import SearchRequest
from radarstream.schemas.snapshot import STRICT

CHARACTERS: Final = 400  # largest question
USED_UP: Final = (432, 433)  # the limits of a plan, and of paying per request


@checked_dataclass(frozen=True, config=STRICT)
class Tavily(SearchService):
    """Searches by Tavily. Language and country are not sent: it needs full names, or none."""

    name: ClassVar = "tavily"
    title: ClassVar = "Tavily"
    base_url: ClassVar = "https://api.tavily.com"
    key_variable: ClassVar = "TAVILY_API_KEY"
    per_page: ClassVar = 20
    most_pages: ClassVar = 1
    check: ClassVar = Call("/usage")

    def call(self, request: SearchRequest, page: int) -> Call:
        """Return the request of the only page; a long question is cut."""
        del page
        body = {
            "query": request.text[:CHARACTERS],
            "max_results": self.per_page,
            "search_depth": "basic",
        }
        if request.dates:
            days = request.dates
            body |= {"start_date": str(days.first), "end_date": str(days.last)}
        return Call("/search", body=body)

    def read(self, answer: Answer, page: int, seen_at: datetime) -> Page:
        """Read the results."""
        del page
        entries = listed(answer, "results")
        if entries is None:
            raise self.malformed()
        results = documents(entries, seen_at, url="url", text="content", date="published_date")
        return Page(results, more=False)

    def failure(self, reply: Reply, variable: str) -> Failure:
        """Return the error of a status."""
        if reply.status in USED_UP:
            return self.out_of_searches()
        return super().failure(reply, variable)
