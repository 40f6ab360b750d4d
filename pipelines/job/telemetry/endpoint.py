"""The HTTP side of telemetry: /metrics, /healthz and /readyz, in a thread of its own.

Whoever reaches the port may be hostile: a connection is one small GET or HEAD with a deadline, and
when there are too many connections the oldest is cut off. Nothing a client sends is repeated or
logged.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from io import BytesIO, StringIO
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app

from radarstream.pipelines.job.telemetry.health import Health
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import ConfigurationError

DEADLINE_S: Final = 5.0  # for reading a request and for writing its answer, each
HEAD_BYTES: Final = 8_192
CONNECTIONS: Final = 16
POLL_S: Final = 0.1  # how soon a stop is noticed
HEADERS: Final = [("Cache-Control", "no-store"), ("Server", "radarstream")]

log = structlog.get_logger("radarstream")


@contextmanager
def serving(
    listen: str, registry: CollectorRegistry, health: Health, setting: str = "telemetry.listen"
) -> Iterator[int]:
    """Serve until the context ends; yields the port, which the system chose if `listen` says 0.

    An empty `listen`, the value of `setting`, serves nothing and yields 0. Raises
    ConfigurationError when the address is not ours or in use.
    """
    if not listen:
        yield 0
        return
    endpoint = opened(listen, registry, health, setting)
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


def opened(listen: str, registry: CollectorRegistry, health: Health, setting: str) -> "Endpoint":
    """Bind the address. Raises ConfigurationError."""
    host, port = host_and_port(listen)
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        endpoint = Endpoint(family, address)
    except OSError as error:
        raise ConfigurationError(
            f"{setting} {listen}: {error.strerror}; each process on a host needs a port of its own,"
            f" for example RADARSTREAM_{setting.upper().replace('.', '__')}=127.0.0.1:9475, or none"
            " (empty)"
        ) from None
    endpoint.set_app(pages(registry, health))
    return endpoint


def pages(registry: CollectorRegistry, health: Health) -> WSGIApplication:
    """The three pages. What fails in one is logged, and its request hung up on."""
    metrics = make_wsgi_app(registry)

    def page(environ: WSGIEnvironment, start: StartResponse) -> list[bytes]:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return answer(start, HTTPStatus.METHOD_NOT_ALLOWED)
        match environ["PATH_INFO"]:
            case "/metrics":
                return list(metrics(environ | {"REQUEST_METHOD": "GET"}, start))
            case "/healthz":
                value = health.life()
            case "/readyz":
                value = health.readiness()
            case _:
                return answer(start, HTTPStatus.NOT_FOUND)
        status = (
            HTTPStatus.OK
            if value.get("alive", value.get("ready"))
            else HTTPStatus.SERVICE_UNAVAILABLE
        )
        return answer(start, status, json.dumps(value), "application/json")

    def application(environ: WSGIEnvironment, start: StartResponse) -> list[bytes]:
        def begin(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            return start(status, headers + HEADERS, *rest)

        try:
            body = page(environ, begin)
        except Exception as error:  # noqa: BLE001 a library's collector may raise anything
            log.warning("telemetry request failed", error=error)
            raise ConnectionAbortedError from None  # the server ends without a word
        return [] if environ["REQUEST_METHOD"] == "HEAD" else body

    return application


def answer(
    start: StartResponse, status: HTTPStatus, text: str = "", content_type: str = "text/plain"
) -> list[bytes]:
    """Answer with a text, by default the name of the status."""
    start(f"{status.value} {status.phrase}", [("Content-Type", content_type)])
    return [(text or f"{status.phrase}\n").encode()]


class Endpoint(ThreadingMixIn, WSGIServer):
    """Accepts connections, a thread each, a few at once."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, family: socket.AddressFamily, address: Any) -> None:
        self.address_family = family
        self._lock = Lock()
        self._open: dict[socket.socket, None] = {}  # oldest first
        super().__init__(address, Request)

    def server_bind(self) -> None:
        """Bind, without asking a name server for the name of this host."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "radarstream", self.server_address[1]
        self.setup_environ()

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

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: what gets here is a client that hung up or was too slow."""


def cut_off(connection: socket.socket) -> None:
    """End a connection; its thread notices and closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class Request(WSGIRequestHandler):
    """Reads one request, within the limits."""

    def setup(self) -> None:
        """Read the whole head first: within the deadline, however slowly it drips."""
        super().setup()
        self.rfile = BytesIO(read_head(self.connection))
        self.connection.settimeout(DEADLINE_S)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse without repeating what was asked, as the base class would."""
        status = HTTPStatus(code)
        self.wfile.write(f"HTTP/1.0 {status.value} {status.phrase}\r\n\r\n".encode("ascii"))

    def get_stderr(self) -> Any:
        """Write nothing: tracebacks may hold data."""
        return StringIO()

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
