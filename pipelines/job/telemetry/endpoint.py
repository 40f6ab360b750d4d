"""The HTTP side of telemetry: /metrics, /healthz and /readyz, in a thread of its own.

Whoever reaches the port may be hostile: a connection is one small GET or HEAD with a deadline for
all of it, and when there are too many connections the oldest is cut off, so that a new one is
always served. Nothing a client sends is repeated or logged.
"""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from radarstream.pipelines.job.telemetry.health import Health
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import ConfigurationError

DEADLINE_S: Final = 5.0  # for reading a request and for writing its answer, each
HEAD_BYTES: Final = 8_192
CONNECTIONS: Final = 16
POLL_S: Final = 0.1  # how soon a stop is noticed
JSON_TYPE: Final = "application/json"

log = structlog.get_logger("radarstream")


@contextmanager
def serving(listen: str, registry: CollectorRegistry, health: Health) -> Iterator[int]:
    """Serve until the context ends; yields the port, which the system chose if `listen` says 0.

    An empty `listen` serves nothing and yields 0. Raises ConfigurationError when the address is
    not ours or in use.
    """
    if not listen:
        yield 0
        return
    endpoint = opened(listen, registry, health)
    registry.register(health)
    port: int = endpoint.server_address[1]
    thread = Thread(target=endpoint.serve_forever, args=(POLL_S,), name="telemetry", daemon=True)
    thread.start()
    log.info("telemetry listens", host=endpoint.server_address[0], port=port)
    try:
        yield port
    finally:
        endpoint.shutdown()
        endpoint.server_close()
        endpoint.cut_off_all()
        thread.join()
        registry.unregister(health)


def opened(listen: str, registry: CollectorRegistry, health: Health) -> "Endpoint":
    """Bind the address. Raises ConfigurationError."""
    host, port = host_and_port(listen)
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return Endpoint(family, address, partial(Page, registry=registry, health=health))
    except OSError as error:
        raise ConfigurationError(
            f"telemetry.listen {listen}: {error.strerror}; each process on a host needs a port of "
            "its own, for example RADARSTREAM_TELEMETRY__LISTEN=127.0.0.1:9465, or none (empty)"
        ) from None


class Endpoint(ThreadingMixIn, TCPServer):
    """Accepts connections, a thread each, a few at once."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, family: socket.AddressFamily, address: Any, page: Any) -> None:
        self.address_family = family
        self._lock = Lock()
        self._open: dict[socket.socket, None] = {}  # oldest first
        super().__init__(address, page)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Make room for a new connection and serve it."""
        with self._lock:
            if len(self._open) >= CONNECTIONS:
                oldest = next(iter(self._open))
                cut_off(oldest)
                del self._open[oldest]
            self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection that was served."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def cut_off_all(self) -> None:
        """End the connections that are still open."""
        with self._lock:
            for connection in self._open:
                cut_off(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Say what is our fault; a client that hangs up is its own business."""
        error = sys.exception()
        if not isinstance(error, OSError):
            log.warning("telemetry request failed", error=error)


def cut_off(connection: socket.socket) -> None:
    """End a connection; its thread notices and closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class Page(BaseHTTPRequestHandler):
    """Answers one request."""

    server_version, sys_version = "radarstream", ""

    def __init__(self, *base: Any, registry: CollectorRegistry, health: Health) -> None:
        self._registry = registry
        self._health = health
        super().__init__(*base)

    def setup(self) -> None:
        """Read the whole head first: within the deadline, however slowly it drips."""
        super().setup()
        self.rfile = BytesIO(read_head(self.connection))
        self.connection.settimeout(DEADLINE_S)

    def do_GET(self) -> None:  # noqa: N802 the base class calls it
        """Answer with one of the pages."""
        match self.path.partition("?")[0]:
            case "/metrics":
                encode, content_type = choose_encoder(self.headers.get("Accept", ""))
                self._answer(HTTPStatus.OK, content_type, encode(self._registry))
            case "/healthz":
                self._answer_json(self._health.alive, self._health.life())
            case "/readyz":
                self._answer_json(self._health.ready, self._health.readiness())
            case _:
                self.send_error(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET  # noqa: N815

    def _answer_json(self, good: bool, body: dict[str, object]) -> None:  # noqa: FBT001
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        self._answer(status, JSON_TYPE, json.dumps(body).encode())

    def _answer(self, status: HTTPStatus, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse without repeating what was asked, as the base class would."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:  # a method other than GET and HEAD
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self._answer(status, "text/plain", f"{status.phrase}\n".encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing: what a client sends is not ours to repeat."""


def read_head(connection: socket.socket) -> bytes:
    """Read up to the empty line. Raises TimeoutError at the deadline, OSError for too much."""
    head, deadline = b"", monotonic() + DEADLINE_S
    while b"\r\n\r\n" not in head and b"\n\n" not in head:
        remaining = deadline - monotonic()
        if remaining <= 0.0:
            raise TimeoutError
        connection.settimeout(remaining)
        received = connection.recv(HEAD_BYTES)
        if not received:
            return b""
        head += received
        if len(head) > HEAD_BYTES:
            raise OSError("request too large")
    return head
