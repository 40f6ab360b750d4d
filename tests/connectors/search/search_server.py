"""A local server that speaks the protocols of search services, and fails as they do, and worse.

A script says what each request gets: `server.replies` one by one, then `server.otherwise`. The
shapes are written by us after the services' documentation.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.replies import Reply, Request, Service, serving

KEY = "c4n4ry0123456789abcdefcafe0123456789abcdef0123456789"


def page(
    results: Sequence[dict[str, Any]],
    *,
    archive_id: str = "65f0a1",
    status: str = "Success",
    more: bool = False,
    error: str = "",
) -> dict[str, Any]:
    """One page as SerpApi sends it."""
    answer: dict[str, Any] = {
        "search_metadata": {
            "id": archive_id, "status": status, "created_at": "2025-06-01 12:00:00 UTC",
            "google_url": "https://www.google.com/search?q=cup",
        },
        "search_parameters": {"engine": "google", "q": "cup"},
        "search_information": {"organic_results_state": "Results for exact spelling"},
    }  # fmt: skip
    if results:
        answer["organic_results"] = list(results)
    if more:
        answer["serpapi_pagination"] = {"current": 1, "next": "https://serpapi.com/search?start=10"}
    if error:
        answer["error"] = error
    return answer


def result(position: int, **changes: Any) -> dict[str, Any]:
    """One organic result."""
    return {
        "position": position,
        "title": f"Title {position}",
        "link": f"https://example.org/{position}",
        "displayed_link": "example.org",
        "snippet": f"Snippet {position}.",
        **changes,
    }


def results(first: int, last: int) -> list[dict[str, Any]]:
    """Results of these numbers, positions counted from 1 on the page."""
    return [
        result(place, link=f"https://example.org/{number}", snippet=f"Snippet {number}.")
        for place, number in enumerate(range(first, last + 1), start=1)
    ]


EMPTY = page([], error="Google hasn't returned any results for this query.")


class SearchServer(Service):
    """Replies in order, and what was asked: parameters or body, and the key that came with it."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: deque[Reply] = deque()
        self.otherwise: Callable[[dict[str, str]], Reply] = self.numbered
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.paths: list[str] = []

    @staticmethod
    def numbered(parameters: dict[str, str]) -> Reply:
        """Ten results a page, for ever."""
        start = int(parameters.get("start", "0"))
        return Reply(page(results(start + 1, start + 10), archive_id=f"page{start}", more=True))

    def reply_to(self, request: Request) -> Reply:
        place = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        parameters = request.json() if request.body else query
        key = parameters.pop("api_key", "") or request.key
        self.paths.append(place.path)
        self.requests.append(parameters)
        self.keys.append(key)
        reply = self.replies.popleft() if self.replies else self.otherwise(parameters)
        return reply if isinstance(reply.body, bytes) else replace(reply, body=reply.content(key))


def serve() -> AbstractContextManager[SearchServer]:
    """Run a server on a loopback port of its own."""
    return serving(SearchServer())
