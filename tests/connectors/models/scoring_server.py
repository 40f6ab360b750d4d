"""A loopback server with the interface that tells log-probabilities of a prompt's tokens.

Its tokens are words with the space before them; the logarithm of each follows from all before it.
`mend` changes a reply before it is sent, to play servers that do otherwise.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from zlib import crc32

from tests.replies import Reply, Request, Service, serving

PIECE = re.compile(r"\s?\w+|\s?[^\w\s]|\s")
BEGIN = 1  # the token that begins every text
Mend = Callable[[str, dict[str, Any], dict[str, Any]], tuple[int, Any]]


class ScoringServer(Service):
    """`mend(path, request, reply)` gives status and body."""

    path = "/v1"
    mend: Mend = staticmethod(lambda path, request, reply: (200, reply))

    def __init__(self) -> None:
        super().__init__()
        self.words = {BEGIN: "<s>"}

    def ids(self, text: str) -> list[int]:
        found = [crc32(piece.encode()) for piece in PIECE.findall(text)]
        self.words.update(zip(found, PIECE.findall(text), strict=True))
        return found

    def reply_to(self, request: Request) -> Reply:
        asked = request.json()
        ids = [BEGIN, *self.ids(asked["prompt"])]
        logs = [logarithm(ids, i) for i in range(len(ids))]
        usage = {"prompt_tokens": len(ids), "completion_tokens": 1}
        choice: dict[str, Any] = {"index": 0, "text": " so", "finish_reason": "length"}
        if asked.get("echo"):
            shown = [*(self.words[i] for i in ids), " so"]
            choice["logprobs"] = {"tokens": shown, "token_logprobs": [None, *logs[1:], -0.5]}
        reply = {"choices": [choice], "usage": usage}
        status, body = self.mend(request.path.removeprefix("/v1"), asked, reply)
        return Reply(body, status)


def logarithm(ids: list[int], position: int) -> float:
    """Of the token at `position` after those before it; some number that depends on them all."""
    return -(crc32(repr(ids[: position + 1]).encode()) % 10_000) / 1000


def scoring() -> AbstractContextManager[ScoringServer]:
    """A running server."""
    return serving(ScoringServer())
