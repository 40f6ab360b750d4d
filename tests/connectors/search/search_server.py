"""A local server that speaks the protocols of search services, and fails as they do, and worse.

A script says what each request gets: `server.replies` one by one, then `server.otherwise`. The
shapes are written by us after the services' documentation.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers import Handler, http_server

JSON = "application/json; charset=utf-8"
KEY = "c4n4ry0123456789abcdefcafe0123456789abcdef0123456789"


@dataclass
class Reply:
    """`body` may hold {key}, which becomes the request's key: a service that echoes it."""

    body: bytes | str | object
    status: int = 200
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    drip_s: float = 0.0
    truncate: bool = False
    reset: bool = False
    hang: bool = False


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
            "id": archive_id,
            "status": status,
            "created_at": "2025-06-01 12:00:00 UTC",
            "google_url": "https://www.google.com/search?q=cup",
        },
        "search_parameters": {"engine": "google", "q": "cup"},
        "search_information": {"organic_results_state": "Results for exact spelling"},
    }
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


class SearchServer:
    """Replies in order, and what was asked: parameters or body, and the key that came with it."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.otherwise: Callable[[dict[str, str]], Reply] = self.numbered
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.released = threading.Event()
        self.url = ""

    @staticmethod
    def numbered(parameters: dict[str, str]) -> Reply:
        """Ten results a page, for ever."""
        start = int(parameters.get("start", "0"))
        return Reply(page(results(start + 1, start + 10), archive_id=f"page{start}", more=True))

    def reply_to(self, path: str, parameters: dict[str, Any], key: str) -> Reply:
        """Take the next reply."""
        self.paths.append(path)
        self.requests.append(parameters)
        self.keys.append(key)
        return self.replies.popleft() if self.replies else self.otherwise(parameters)


def _body(reply: Reply, key: str) -> bytes:
    body = reply.body
    if isinstance(body, bytes):
        return body
    text = body if isinstance(body, str) else json.dumps(body)
    return text.replace("{key}", key).encode()


class SearchHandler(Handler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        self._reply({name: values[0] for name, values in query.items()})

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _reply(self, parameters: dict[str, Any]) -> None:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        key = parameters.pop("api_key", "") or self.headers.get("x-subscription-token", bearer)
        reply = self.server.state.reply_to(urlsplit(self.path).path, parameters, key)
        if reply.hang:
            self.server.state.released.wait(30)
        if reply.hang or reply.reset:
            self.close_connection = True
            return
        self._send(reply, _body(reply, key))

    def _send(self, reply: Reply, body: bytes) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(body) + (100 if reply.truncate else 0)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self._write(reply, body)
        except OSError:
            self.close_connection = True

    def _write(self, reply: Reply, body: bytes) -> None:
        if reply.drip_s:
            self.close_connection = True
            for byte in body:
                self.wfile.write(bytes([byte]))
                if self.server.state.released.wait(reply.drip_s):
                    return
        else:
            self.wfile.write(body)
            self.close_connection = reply.truncate


@contextmanager
def serve() -> Iterator[SearchServer]:
    """Run a server on a loopback port of its own."""
    script = SearchServer()
    with http_server(SearchHandler, script) as port:
        script.url = f"http://127.0.0.1:{port}"
        try:
            yield script
        finally:
            script.released.set()
