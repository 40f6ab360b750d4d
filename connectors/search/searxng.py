"""SearXNG: a free, self-hosted search over many engines.

https://docs.searxng.org/dev/search_api.html
"""

from datetime import datetime
from typing import ClassVar, Final

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.connectors.search.results import documents, listed
from radarstream.connectors.search.service import Answer, Call, Failure, Page, Reply, SearchService
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import STRICT

PORTS: Final = (8888, 8080)  # of an installed SearXNG, and of its container
ABOUT: Final = Call("/config")  # an instance's description of itself, always JSON
ENABLE_JSON: Final = "set search.formats: [html, json] in SearXNG's settings.yml and restart it"
NO_LIMITER: Final = "set server.limiter: false in SearXNG's settings.yml"


@checked_dataclass(frozen=True, config=STRICT)
class SearXng(SearchService):
    """Searches by an instance of SearXNG, by default on this machine.

    Pages differ in size: results beyond 10 are used for the next request.
    """

    engines: str = ""
    """engines, separated by commas; empty = those of the instance's settings"""

    name: ClassVar = "searxng"
    title: ClassVar = "SearXNG"
    base_url: ClassVar = "http://127.0.0.1:8888"
    by_date: ClassVar = False
    check: ClassVar = Call("/search", {"format": "json"})

    def call(self, request: SearchRequest, page: int) -> Call:
        """Return the request of a page; a language without a region gets that of the country."""
        language = request.language
        if language and request.country and "-" not in language:
            language = f"{language}-{request.country.upper()}"
        parameters = {
            "q": request.text,
            "format": "json",
            "pageno": str(page + 1),
            "language": language,
            "engines": self.engines,
        }
        return Call("/search", parameters)

    def read(self, answer: Answer, page: int, seen_at: datetime) -> Page:
        """Read the merged results. An empty first page is a failure if engines failed."""
        entries = listed(answer, "results")
        if entries is None:
            raise self.malformed()
        if not entries and page == 0 and answer.get("unresponsive_engines"):
            detail = "no search engine answered SearXNG"
            raise SearchFailedError(FailureClass.UNAVAILABLE, detail)
        results = documents(entries, seen_at, url="url", text="content", date="publishedDate")
        return Page(results, bool(entries))

    def failure(self, reply: Reply, variable: str) -> Failure:
        """Return the error of a status; 403 means that JSON is not enabled, the default."""
        failed = super().failure(reply, variable)
        if reply.status == 403:
            no_json = ConfigurationError(f"SearXNG refuses JSON (HTTP 403): {ENABLE_JSON}")
            return no_json.mended_by(ENABLE_JSON)
        if reply.status == 429 and isinstance(failed, SearchFailedError):
            detail = f"SearXNG limits how often it is asked (HTTP 429): {NO_LIMITER}"
            return SearchFailedError(failed.kind, detail, failed.retry_after_s)
        return failed

    def checked(self, reply: Reply, variable: str) -> str:
        """Take the JSON error about the missing question as success."""
        if reply.status == 400 and reply.answer:
            return "answers, with JSON"
        return super().checked(reply, variable)
