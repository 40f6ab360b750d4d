"""A loopback server with the interface that tells log-probabilities of a prompt's tokens.

Its tokens are words with the space before them; the logarithm of each follows from all before it.
`mend` changes a reply before it is sent, to play servers that do otherwise.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from tests.servers import Handler, http_server

PIECE = re.compile(r"\s?\w+|\s?[^\w\s]|\s")
BEGIN = 1  # the token that begins every text
Mend = Callable[[str, dict[str, Any], dict[str, Any]], tuple[int, Any]]


@dataclass
class ScoringServer:
    """What it was asked; `mend(path, request, reply)` gives status and body."""

    url: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    mend: Mend = lambda path, request, reply: (200, reply)
    words: dict[int, str] = field(default_factory=lambda: {BEGIN: "<s>"})

    def ids(self, text: str) -> list[int]:
        found = [crc32(piece.encode()) for piece in PIECE.findall(text)]
        self.words.update(zip(found, PIECE.findall(text), strict=True))
        return found


def logarithm(ids: list[int], position: int) -> float:
    """Of the token at `position` after those before it; some number that depends on them all."""
    return -(crc32(repr(ids[: position + 1]).encode()) % 10_000) / 1000


def reply_to(server: ScoringServer, path: str, request: dict[str, Any]) -> dict[str, Any]:
    ids = [BEGIN, *server.ids(request["prompt"])]
    logs = [logarithm(ids, i) for i in range(len(ids))]
    usage = {"prompt_tokens": len(ids), "completion_tokens": 1}
    choice: dict[str, Any] = {"index": 0, "text": " so", "finish_reason": "length"}
    if request.get("echo"):
        shown = [*(server.words[i] for i in ids), " so"]
        choice["logprobs"] = {"tokens": shown, "token_logprobs": [None, *logs[1:], -0.5]}
    return {"choices": [choice], "usage": usage}


class Scoring(Handler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        state: ScoringServer = self.server.state
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.removeprefix("/v1")
        state.requests.append((self.path, request))
        status, body = state.mend(path, request, reply_to(state, path, request))
        content = json.dumps(body).encode()
        with suppress(ConnectionError):  # a client that gave up
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)


@contextmanager
def scoring() -> Iterator[ScoringServer]:
    """A running server."""
    state = ScoringServer()
    with http_server(Scoring, state) as port:
        state.url = f"http://127.0.0.1:{port}/v1"
        yield state
