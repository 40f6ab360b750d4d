"""What tests know of each service: its pages, its failures, where it takes the key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import FailureClass
from tests.connectors.search import search_server as serpapi
from tests.replies import Reply

Results = Sequence[tuple[str, str, str]]  # address, text, date


def serpapi_page(results: Results, more: bool) -> dict[str, Any]:
    entries = [
        serpapi.result(n, link=url, snippet=text, date=date)
        for n, (url, text, date) in enumerate(results, start=1)
    ]
    return serpapi.page(entries, more=more) if entries else serpapi.EMPTY


def entries(results: Results, text: str, date: str, **more: Any) -> list[dict[str, Any]]:
    """Entries with text and date under these names, and with what else a service sends."""
    return [
        {"title": f"Title {n}", "url": url, text: said, date: day or None, **more}
        for n, (url, said, day) in enumerate(results, start=1)
    ]


def searxng_page(results: Results, more: bool) -> dict[str, Any]:
    others = {"engine": "duckduckgo", "engines": ["duckduckgo", "brave"], "positions": [3, 3]}
    others |= {"parsed_url": ["https", "example.org", "/", "", "", ""], "score": float("nan")}
    page = {"query": "cup", "results": entries(results, "content", "publishedDate", **others)}
    blind = [["google", "Suspended: too many requests"]] if results else []
    return page | {"answers": [], "number_of_results": 0, "unresponsive_engines": blind}


def brave_page(results: Results, more: bool) -> dict[str, Any]:
    page = {"type": "search", "query": {"original": "cup", "more_results_available": more}}
    found = {"type": "search", "results": entries(results, "description", "page_age")}
    return page | ({"web": found} if results else {})


def tavily_page(results: Results, more: bool) -> dict[str, Any]:
    found = entries(results, "content", "published_date", score=0.9, raw_content=None)
    return {"query": "cup", "results": found, "response_time": 1.1, "request_id": "123e4567"}


def brave_error(status: int, code: str, **headers: str) -> Reply:
    body = {"id": "5d83", "code": code, "detail": f"{code} {{key}}", "status": status}
    return Reply({"type": "ErrorResponse", "error": body, "time": 1}, status, headers=headers)


@dataclass(frozen=True)
class Case:
    """`failures` are replies of its own, and what they become."""

    variable: str
    per_page: int
    page: Callable[[Results, bool], dict[str, Any]]
    asked: dict[str, Any]  # of a search for "Who won the cup?" in English, in Switzerland
    second: dict[str, Any] | None  # what differs when the second page is asked for
    dates: dict[str, Any] | None  # what a span of days adds
    date: str  # how it writes 5 March 2024
    ready: Reply  # to its check
    failures: dict[str, tuple[Reply, FailureClass | type[ConfigurationError]]]


QUESTION = "Who won the cup?"
SPENT = FailureClass.OUT_OF_SEARCHES
BLIND = {"results": [], "unresponsive_engines": [["brave", "timeout"]]}
CASES = {
    "serpapi": Case(
        variable="SERPAPI_KEY",
        per_page=10,
        page=serpapi_page,
        asked={"engine": "google", "q": QUESTION, "hl": "en", "gl": "ch"},
        second={"start": "10"},
        dates={"tbs": "cdr:1,cd_min:1/1/2015,cd_max:12/31/2015"},
        date="Mar 5, 2024",
        ready=Reply({"account_id": "1", "api_key": "{key}", "plan_searches_left": 5}),
        failures={
            "quota": (Reply({"error": "Your account has run out of searches."}, 429), SPENT),
            "failed": (Reply(serpapi.page([], status="Error")), FailureClass.UNAVAILABLE),
            "not ready": (Reply(serpapi.page([], status="Queued")), FailureClass.UNAVAILABLE),
            "no answer": (Reply({"results": []}), FailureClass.MALFORMED),
        },
    ),
    "searxng": Case(
        variable="SEARXNG_KEY",  # of a proxy before it
        per_page=10,
        page=searxng_page,
        asked={"q": QUESTION, "format": "json", "pageno": "1", "language": "en-CH"},
        second={"pageno": "2"},
        dates=None,
        date="2024-03-05T10:00:00",
        ready=Reply({"error": "No query"}, 400),
        failures={
            "no JSON": (Reply("<h1>Forbidden</h1>", 403, "text/html"), ConfigurationError),
            "limiter": (Reply("Too Many Requests", 429, "text/plain"), FailureClass.THROTTLED),
            "engines": (Reply(BLIND), FailureClass.UNAVAILABLE),
            "no answer": (Reply({"results": None}), FailureClass.MALFORMED),
        },
    ),
    "brave": Case(
        variable="BRAVE_API_KEY",
        per_page=20,
        page=brave_page,
        asked={"q": QUESTION, "count": "20", "offset": "0", "result_filter": "web"}
        | {"text_decorations": "false", "search_lang": "en", "country": "CH"},
        second={"offset": "1"},
        dates={"freshness": "2015-01-01to2015-12-31"},
        date="2024-03-05T10:00:00",
        ready=brave_error(422, "VALIDATION"),
        failures={
            "key": (brave_error(422, "SUBSCRIPTION_TOKEN_INVALID"), ConfigurationError),
            "parameter": (brave_error(422, "VALIDATION"), FailureClass.REFUSED),
            "quota": (brave_error(429, "QUOTA_LIMITED"), FailureClass.OUT_OF_SEARCHES),
            "rate": (brave_error(429, "RATE_LIMITED"), FailureClass.THROTTLED),
            "no answer": (Reply({"type": "ErrorResponse"}), FailureClass.MALFORMED),
        },
    ),
    "tavily": Case(
        variable="TAVILY_API_KEY",
        per_page=20,
        page=tavily_page,
        asked={"query": QUESTION, "max_results": 20, "search_depth": "basic"},
        second=None,
        dates={"start_date": "2015-01-01", "end_date": "2015-12-31"},
        date="Tue, 05 Mar 2024 10:00:00 GMT",
        ready=Reply({"key": {"usage": 150, "limit": 1000}}),
        failures={
            "plan": (Reply({"detail": {"error": "This exceeds your plan's limit."}}, 432), SPENT),
            "pay as you go": (Reply({"detail": {"error": "{key}"}}, 433), SPENT),
            "no answer": (Reply({"results": {}}), FailureClass.MALFORMED),
        },
    ),
}
