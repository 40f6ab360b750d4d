"""HTTP services on loopback that reply as they are told, or fail as services do."""

import json
import socket
import struct
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Event, Lock, Thread
from typing import Any, TypeVar

JSON = "application/json; charset=utf-8"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a closed connection tells of no orderly end


@dataclass(frozen=True)
class Reply:
    """What a service sends; a body that is neither text nor bytes is sent as JSON.

    In a text, {key} becomes the request's key: a service that echoes it. `hang` says nothing until
    the service closes, `close` hangs up at once, `reset` breaks the connection, `half` ends in the
    middle of the body, `drip_s` pauses after each byte of it, `slow_head` is a header without end.
    """

    body: object = b""
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    drip_s: float = 0.0
    hang: bool = False
    close: bool = False
    reset: bool = False
    half: bool = False
    slow_head: bool = False

    def content(self, key: str) -> bytes:
        """The body as bytes."""
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.replace("{key}", key).encode()


@dataclass(frozen=True)
class Request:
    """A request."""

    path: str
    headers: Message
    body: bytes

    @property
    def key(self) -> str:
        """The key that came in a header."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return str(self.headers.get("x-subscription-token", bearer))

    def json(self) -> Any:
        return json.loads(self.body)


class Service(ABC):
    """Replies by `reply_to`, one request at a time; `url` ends with its `path`."""

    path = ""

    def __init__(self) -> None:
        self.url = ""
        self.closing, self.lock = Event(), Lock()
        self.connections: set[tuple[str, int]] = set()
        self.in_flight = self.most_in_flight = 0

    @abstractmethod
    def reply_to(self, request: Request) -> Reply:
        """The reply to a request."""


class Listening(ThreadingHTTPServer):
    """Serves HTTP on a port of its own."""

    daemon_threads = True
    request_queue_size = 128
    service: Service

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Let defects of a handler be seen, not clients that hang up or distrust a certificate."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Replying(BaseHTTPRequestHandler):
    """Lets the service reply and says nothing of requests: an address may hold a key."""

    server: Listening
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        service = self.server.service
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        request = Request(self.path, self.headers, body)
        with service.lock:
            service.connections.add(self.client_address)
            service.in_flight += 1
            service.most_in_flight = max(service.most_in_flight, service.in_flight)
            reply = service.reply_to(request)
        try:
            self.send(reply, request.key)
        except OSError:
            self.close_connection = True  # the client went away
        finally:
            with service.lock:
                service.in_flight -= 1

    do_POST = do_GET  # noqa: N815 the name that the library calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay quiet."""

    def send(self, reply: Reply, key: str) -> None:
        closing = self.server.service.closing
        self.close_connection = bool(reply.hang or reply.close or reply.reset or reply.half)
        if reply.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.connection.close()
        closing.wait(30.0 if reply.hang else reply.after_s)
        if reply.hang or reply.close or reply.reset:
            return
        if reply.slow_head:
            self.drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 2_000, 0.02)
            return
        content = reply.content(key)
        self.send_response(reply.status)
        given = {"Content-Type": reply.content_type, "Content-Length": str(len(content))}
        for name, value in (given | dict(reply.headers)).items():
            self.send_header(name, value)
        self.end_headers()
        if reply.drip_s:
            self.drip(content, reply.drip_s)
        else:
            self.wfile.write(content[: len(content) // 2] if reply.half else content)

    def drip(self, content: bytes, pause_s: float) -> None:
        """Send a byte now and then, until the client has had enough or the service closes."""
        self.close_connection = True
        for byte in content:
            self.wfile.write(bytes([byte]))
            if self.server.service.closing.wait(pause_s):
                return


ServiceT = TypeVar("ServiceT", bound=Service)


@contextmanager
def serving(service: ServiceT, tls: SSLContext | None = None) -> Iterator[ServiceT]:
    """Run a service until the end of the block."""
    with Listening(("127.0.0.1", 0), Replying) as server:
        server.service = service
        if tls is not None:
            server.socket = tls.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        address = f"127.0.0.1:{server.server_port}{service.path}"
        service.url = f"{'https' if tls else 'http'}://{address}"
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.closing.set()
            server.shutdown()
            thread.join()
