"""An OpenAI-compatible server that misbehaves on demand, on loopback, in a thread.

It answers chat requests by the scripted rules over the documents in them. `script` is a queue of
faults, one per chat request; when it is empty, `always` applies, by default a good answer.
"""

import json
import re
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from radarstream.connectors.models.scripted_rules import extract, most_frequent
from tests.servers import Handler, http_server

DOCUMENT = re.compile(r'<document number="\d+">(.*?)</document>')
QUESTION = re.compile(r"Question: (.*)")
Fault = Callable[["ChatHandler", dict[str, Any]], None]


def answer_text(request: dict[str, Any]) -> str:
    """What a simple model would say."""
    content = request["messages"][-1]["content"]
    question = QUESTION.search(content)
    if question is None:  # the probe of a service
        return "Yes."
    return most_frequent([extract(question[1], text) for text in DOCUMENT.findall(content)])


def chat_reply(text: str | None, *, reason: str = "stop", **message: object) -> dict[str, Any]:
    """A chat completion."""
    said = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said, "finish_reason": reason}],
        "usage": usage,
    }


@dataclass
class FaultServer:
    """What it was asked and how it answers."""

    script: deque[Fault] = field(default_factory=deque)
    always: Fault | None = None
    key: str | None = None
    models: tuple[str, ...] = ("small",)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: Any = field(default_factory=Lock)
    stopping: Event = field(default_factory=Event)
    url: str = ""

    def asked(self) -> Counter[str]:
        """How often each last message was sent."""
        with self.lock:
            return Counter(r["messages"][-1]["content"] for r in self.requests)


class ChatHandler(Handler):
    """One connection; HTTP/1.1 keeps it open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """List the models."""
        if not self.admitted():
            return
        models = [{"id": name, "object": "model"} for name in self.server.state.models]
        self.reply(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        """Answer a chat request, or misbehave."""
        state = self.server.state
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with state.lock:
            state.requests.append(request)
            state.headers.append({k.lower(): v for k, v in self.headers.items()})
            state.connections.add(self.client_address)
            state.in_flight += 1
            state.most_in_flight = max(state.most_in_flight, state.in_flight)
            fault = state.script.popleft() if state.script else state.always
        try:
            if fault is not None:
                fault(self, request)
            elif self.admitted():
                self.reply(200, chat_reply(answer_text(request)))
        except OSError:
            self.close_connection = True  # the client went away
        finally:
            with state.lock:
                state.in_flight -= 1

    def admitted(self) -> bool:
        """Check the key."""
        expected = self.server.state.key
        if expected is None or self.headers.get("authorization") == f"Bearer {expected}":
            return True
        shown = self.headers.get("authorization", "")
        self.reply(401, {"error": {"message": f"bad key {shown}", "code": "invalid_api_key"}})
        return False

    def reply(self, status: int, body: object, **headers: str) -> None:
        """Send a JSON body, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(state: FaultServer | None = None) -> Iterator[FaultServer]:
    """Run a server until the end of the block."""
    state = state or FaultServer()
    with http_server(ChatHandler, state) as port:
        state.url = f"http://127.0.0.1:{port}/v1"
        try:
            yield state
        finally:
            state.stopping.set()


def status(code: int, error: str = "", **headers: str) -> Fault:
    """An error response; its message repeats the key and the prompt, as careless services do."""

    def fault(handler: ChatHandler, request: dict[str, Any]) -> None:
        message = f"{handler.headers.get('authorization')} said {request['messages'][-1]}"
        handler.reply(code, {"error": {"message": message, "code": error}}, **headers)

    return fault


def says(text: str | None, **options: Any) -> Fault:
    """A well-formed reply with this text."""
    return lambda handler, request: handler.reply(200, chat_reply(text, **options))


def sends(body: object, code: int = 200, **headers: str) -> Fault:
    """A reply of any bytes, or of any JSON."""
    return lambda handler, request: handler.reply(code, body, **headers)


def hang(handler: ChatHandler, request: dict[str, Any]) -> None:
    """Never answer."""
    handler.server.state.stopping.wait(30.0)
    handler.close_connection = True


def drip(handler: ChatHandler, request: dict[str, Any]) -> None:
    """Send a good answer, one byte at a time."""
    content = json.dumps(chat_reply("slow")).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    for byte in content:
        handler.wfile.write(bytes([byte]))
        if handler.server.state.stopping.wait(0.1):
            break


def half(handler: ChatHandler, request: dict[str, Any]) -> None:
    """Announce a whole answer, send half of it and close."""
    content = json.dumps(chat_reply("half")).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    handler.close_connection = True


def reset(handler: ChatHandler, request: dict[str, Any]) -> None:
    """Reset the connection."""
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.close()
    handler.close_connection = True
