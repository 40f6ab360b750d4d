"""An OpenAI-compatible server that misbehaves on demand, on loopback, in a thread.

It answers chat requests by the scripted rules over the documents in them. `script` is a queue of
faults, one per chat request; when it is empty, `always` applies, by default a good answer.
"""

import re
from collections import Counter, deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from radarstream.connectors.models.scripted_rules import extract, most_frequent
from tests import replies
from tests.replies import Reply, Request, Service

DOCUMENT = re.compile(r'<document number="\d+">(.*?)</document>')
QUESTION = re.compile(r"Question: (.*)")
Fault = Reply | Callable[[dict[str, Any]], Reply]


def answer_text(request: dict[str, Any]) -> str:
    """What a simple model would say."""
    content = request["messages"][-1]["content"]
    question = QUESTION.search(content)
    if question is None:  # the probe of a service
        return "Yes."
    return most_frequent([extract(question[1], text) for text in DOCUMENT.findall(content)])


class FaultServer(Service):
    """What it was asked and how it answers."""

    path = "/v1"

    def __init__(self) -> None:
        super().__init__()
        self.script: deque[Fault] = deque()
        self.always: Fault | None = None
        self.key: str | None = None
        self.models: tuple[str, ...] = ("small",)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Any] = []

    def asked(self) -> Counter[str]:
        """How often each last message was sent."""
        with self.lock:
            return Counter(r["messages"][-1]["content"] for r in self.requests)

    def reply_to(self, request: Request) -> Reply:
        """Answer a chat request or list the models, or misbehave."""
        fault: Fault | None = None
        asked: dict[str, Any] = {}
        if request.body:
            asked = request.json()
            self.requests.append(asked)
            self.headers.append(request.headers)
            fault = self.script.popleft() if self.script else self.always
        if fault is not None:
            return fault(asked) if callable(fault) else fault
        if self.key not in (None, request.key):
            error = {"message": "bad key Bearer {key}", "code": "invalid_api_key"}
            return Reply({"error": error}, 401)
        models = [{"id": name, "object": "model"} for name in self.models]
        return says(answer_text(asked)) if asked else Reply({"object": "list", "data": models})


def serving() -> AbstractContextManager[FaultServer]:
    """Run a server until the end of the block."""
    return replies.serving(FaultServer())


def chat_reply(text: str | None, *, reason: str = "stop", **message: object) -> dict[str, Any]:
    """A chat completion."""
    said = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    choices = [{"index": 0, "message": said, "finish_reason": reason}]
    return {"object": "chat.completion", "choices": choices, "usage": usage}


def says(text: str | None, **options: Any) -> Reply:
    """A well-formed reply with this text."""
    return Reply(chat_reply(text, **options))


def status(code: int, error: str = "", **headers: str) -> Fault:
    """An error response; its message repeats the key and the prompt, as careless services do."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def fault(request: dict[str, Any]) -> Reply:
        message = f"Bearer {{key}} said {request['messages'][-1]}"
        return Reply({"error": {"message": message, "code": error}}, code, headers=named)

    return fault


hang, reset = Reply(hang=True), Reply(reset=True)
drip, half = Reply(chat_reply("slow"), drip_s=0.1), Reply(chat_reply("half"), half=True)
