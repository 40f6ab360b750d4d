"""Brave Search: an index of its own, 20 results a page.

https://api-dashboard.search.brave.com/api-reference/web/search/get
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from html import unescape
from typing import ClassVar, Final

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.connectors.search.results import documents, listed
from radarstream.connectors.search.service import Answer, Call, Failure, Page, Reply, SearchService
from radarstream.schemas.searching import SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import STRICT, Document

PATH: Final = "/res/v1/web/search"
CHARACTERS, WORDS = 400, 50  # largest question
LANGUAGES: Final = {"ja": "jp"}  # codes that differ from ISO 639
BAD_KEY: Final = (
    "SUBSCRIPTION_TOKEN_INVALID",
    "SUBSCRIPTION_TOKEN_MISSING",
    "SUBSCRIPTION_NOT_FOUND",
)


@checked_dataclass(frozen=True, config=STRICT)
class Brave(SearchService):
    """Searches by Brave."""

    name: ClassVar = "brave"
    title: ClassVar = "Brave Search"
    base_url: ClassVar = "https://api.search.brave.com"
    key_variable: ClassVar = "BRAVE_API_KEY"
    per_page: ClassVar = 20
    check: ClassVar = Call(PATH)  # without a question, because only successful requests cost

    def call(self, request: SearchRequest, page: int) -> Call:
        """Return the request of a page; a long question is cut."""
        language, span = request.language.lower(), request.dates
        parameters = {
            "q": " ".join(request.text.split()[:WORDS])[:CHARACTERS],
            "count": str(self.per_page),
            "offset": str(page),
            "result_filter": "web",
            "text_decorations": "false",
            "search_lang": LANGUAGES.get(language, language),
            "country": request.country.upper(),
            "freshness": f"{span.first}to{span.last}" if span else "",
        }
        return Call(PATH, parameters)

    def signed(self, call: Call, key: str) -> Call:
        """Add the key to a request."""
        return replace(call, headers={**call.headers, "x-subscription-token": key})

    def read(self, answer: Answer, page: int, seen_at: datetime) -> Page:
        """Read the web results, if there are any; their text has entities of HTML."""
        del page
        if answer.get("type") != "search":
            raise self.malformed()
        entries = listed(answer, "web", "results") or []
        results = documents(entries, seen_at, url="url", text="description", date="page_age")
        query = answer.get("query")
        more = isinstance(query, dict) and query.get("more_results_available") is True
        return Page([_plain(result) for result in results], more)

    def failure(self, reply: Reply, variable: str) -> Failure:
        """Return the error by the code in the body: HTTP 422 and 429 have two meanings each."""
        code = _code(reply)
        if code in BAD_KEY:
            return self.key_refused(reply, variable)
        if code == "QUOTA_LIMITED":
            return self.out_of_searches()
        failed = super().failure(reply, variable)
        if reply.status == 429 and isinstance(failed, SearchFailedError):
            # The header has the seconds of each limit, the shortest window first.
            with suppress(ValueError):
                seconds = int(reply.headers.get("x-ratelimit-reset", "").partition(",")[0])
                return SearchFailedError(failed.kind, str(failed), float(min(seconds, 3_600)))
        return failed

    def checked(self, reply: Reply, variable: str) -> str:
        """Take the error about the missing question as success: the key is checked first."""
        if reply.status == 422 and _code(reply) == "VALIDATION":
            return "answers and takes the key"
        return super().checked(reply, variable)


def _code(reply: Reply) -> str:
    error = reply.answer.get("error")
    return str(error.get("code")) if isinstance(error, dict) else ""


def _plain(result: Document) -> Document:
    return replace(result, title=unescape(result.title), text=unescape(result.text))
