"""/metrics, /healthz and /readyz in a thread of their own, one GET a connection, nothing logged."""

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from io import StringIO
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app

from radarstream.pipelines.job.telemetry.health import Health
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import ConfigurationError

DEADLINE_S: Final = 5.0  # without a byte
POLL_S: Final = 0.1  # how soon a stop is noticed

log = structlog.get_logger("radarstream")


@contextmanager
def serving(
    listen: str, registry: CollectorRegistry, health: Health, setting: str = "telemetry.listen"
) -> Iterator[int]:
    """Serve until the context ends and yield the port; an empty `listen`, the value of `setting`,
    serves nothing and yields 0. Raises ConfigurationError for an address that is not ours or in
    use.
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
    """The three pages. What fails in one is logged."""
    metrics = make_wsgi_app(registry)

    def page(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "GET":
            return answer(start, HTTPStatus.METHOD_NOT_ALLOWED)
        match environ["PATH_INFO"]:
            case "/metrics":
                return list(metrics(environ, start))
            case "/healthz":
                good, value = health.alive, health.life()
            case "/readyz":
                good, value = health.ready, health.readiness()
            case _:
                return answer(start, HTTPStatus.NOT_FOUND)
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        return answer(start, status, json.dumps(value), "application/json")

    def application(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        try:
            return page(environ, start)
        except Exception as error:  # noqa: BLE001 a library's collector may raise anything
            log.warning("telemetry request failed", error=error)
            return answer(start, HTTPStatus.INTERNAL_SERVER_ERROR)

    return application


def answer(
    start: StartResponse, status: HTTPStatus, text: str = "", content_type: str = "text/plain"
) -> list[bytes]:
    """Answer with a text, by default the name of the status."""
    start(f"{status.value} {status.phrase}", [("Content-Type", content_type)])
    return [(text or f"{status.phrase}\n").encode()]


class Endpoint(ThreadingMixIn, WSGIServer):
    """Accepts connections, a thread each."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, family: socket.AddressFamily, address: Any) -> None:
        self.address_family = family
        super().__init__(address, Request)

    def server_bind(self) -> None:
        """Bind, without asking a name server for the name of this host."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "radarstream", self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: what gets here is a client that hung up or was too slow."""


class Request(WSGIRequestHandler):
    """Reads one request, and neither logs nor repeats anything of it."""

    timeout = DEADLINE_S

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse without repeating what was asked, as the base class would."""
        status = HTTPStatus(code)
        self.wfile.write(f"HTTP/1.0 {status.value} {status.phrase}\r\n\r\n".encode("ascii"))

    def get_stderr(self) -> Any:
        """Write nothing: tracebacks may hold data."""
        return StringIO()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing: what a client sends is not ours to repeat."""
