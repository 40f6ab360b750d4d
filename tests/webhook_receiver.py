"""An HTTP endpoint on loopback that records what it is sent and answers as it is told."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedIOBase
from ssl import SSLContext
from threading import Condition, Event

from tests.servers import Handler, http_server


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """What to answer; `hang` says nothing until the receiver closes, `reset` hangs up at once.

    `drip` begins an answer and never comes to its end, a byte now and then.
    """

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    reset: bool = False
    drip: bool = False


class Receiver:
    """Answers with `replies` in turn, then with `last` for ever."""

    def __init__(self, replies: Sequence[Reply] = (), last: Reply = Reply()) -> None:
        self.replies, self.last = deque(replies), last
        self.received: list[Received] = []
        self.url = ""
        self.closing = Event()
        self._changed = Condition()

    def wait_for(self, count: int, timeout_s: float = 60.0) -> list[Received]:
        """What was received, once there are so many requests."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.received) >= count, timeout_s), (
                f"{len(self.received)} of {count} requests"
            )
            return list(self.received)

    def take(self, request: Received) -> Reply:
        with self._changed:
            self.received.append(request)
            self._changed.notify_all()
            return self.replies.popleft() if self.replies else self.last


def drip(answer: BufferedIOBase, closing: Event) -> None:
    """Begin a header that does not end, until the client has had enough."""
    with suppress(OSError):
        answer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not closing.wait(0.02):
            answer.write(b"a")


class Endpoint(Handler):
    def do_POST(self) -> None:
        receiver: Receiver = self.server.state
        body = self.rfile.read(int(self.headers["Content-Length"]))
        reply = receiver.take(Received(self.path, dict(self.headers), body))
        if reply.hang:
            receiver.closing.wait(30)
        if reply.drip:
            drip(self.wfile, receiver.closing)
        if reply.hang or reply.reset or reply.drip:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if "Content-Length" not in reply.headers:
            self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def receiving(
    replies: Sequence[Reply] = (), last: Reply = Reply(), tls: SSLContext | None = None
) -> Iterator[Receiver]:
    """Serve until the block ends."""
    receiver = Receiver(replies, last)
    with http_server(Endpoint, receiver, tls) as port:
        receiver.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/hook"
        try:
            yield receiver
        finally:
            receiver.closing.set()
