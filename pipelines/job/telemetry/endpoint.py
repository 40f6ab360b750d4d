"""Health of a process, and the server of /metrics, /healthz and /readyz, which runs in a thread,
answers one GET per connection and logs no request.
"""

import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final, Literal

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from radarstream.pipelines.job.telemetry.readings import read
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import ConfigurationError

Check = Literal["broker", "partitions", "database", "models"]
CHECKS: tuple[Check, ...] = ("broker", "partitions", "database", "models")


class Health(Collector):
    """Signs of life and checks, thread-safe; exported to Prometheus.

    A process is alive while its last sign is younger than `limit_s` seconds, or `busy_limit_s`
    while a model works. It is ready while all `checks` pass; callers report their results.
    """

    def __init__(
        self,
        limit_s: float,
        busy_limit_s: float,
        now: Callable[[], float] = monotonic,
        checks: Sequence[Check] = CHECKS,
    ) -> None:
        self._limit_s = limit_s
        self._busy_limit_s = busy_limit_s
        self._now = now
        self._lock = Lock()
        self._last_sign = now()
        self._busy: list[str] = []
        self._passed: dict[Check, bool] = dict.fromkeys(checks, False)

    def tick(self) -> None:
        """Give a sign of life."""
        self._last_sign = self._now()

    @contextmanager
    def busy(self, stage: str) -> Iterator[None]:
        """Allow the enclosed work `busy_limit_s`; one of a Meter's `observers`."""
        with self._lock:
            self._busy.append(stage)
        self.tick()
        try:
            yield
        finally:
            with self._lock:
                self._busy.remove(stage)
            self.tick()

    def passed(self, check: Check, passed: bool = True) -> None:  # noqa: FBT001, FBT002 reads well
        """Report the result of a check."""
        self._passed[check] = passed

    @property
    def alive(self) -> bool:
        """Whether the last sign of life is recent enough."""
        return self._silence_s <= (self._busy_limit_s if self._busy else self._limit_s)

    def checks(self) -> Mapping[str, bool]:
        """Return whether each check has passed."""
        return {check: passed for check, passed in self._passed.items()}  # noqa: C416 typed

    @property
    def ready(self) -> bool:
        """Whether every check has passed."""
        return all(self.checks().values())

    @property
    def _silence_s(self) -> float:
        return max(0.0, self._now() - self._last_sign)

    def life(self) -> dict[str, object]:
        """Return the body of /healthz."""
        with self._lock:
            busy = list(self._busy)
        return {"alive": self.alive, "silence_s": round(self._silence_s, 3), "busy": busy}

    def readiness(self) -> dict[str, object]:
        """Return the body of /readyz."""
        checks = self.checks()
        return {"ready": all(checks.values()), "checks": checks}

    def collect(self) -> Iterator[Metric]:
        """Export every check."""
        passed = [([check], float(passed)) for check, passed in self.checks().items()]
        text = "Whether a check of /readyz has passed: 1 or 0"
        yield read(GaugeMetricFamily, "check_passed", text, ["check"], passed)


DEADLINE_S: Final = 5.0  # without a byte
POLL_S: Final = 0.1  # delay until a stop is noticed
REFUSED: Final = {HTTPStatus.NOT_IMPLEMENTED: HTTPStatus.METHOD_NOT_ALLOWED}  # of the base class

log = structlog.get_logger("radarstream")


@contextmanager
def serving(
    listen: str, registry: CollectorRegistry, health: Health, setting: str = "telemetry.listen"
) -> Iterator[int]:
    """Serve until the context ends and yield the port. An empty `listen`, the value of `setting`,
    serves nothing and yields 0. Raises ConfigurationError for an address of another host or in use.
    """
    if not listen:
        yield 0
        return
    try:
        endpoint = Endpoint(listen, registry, health)
    except OSError as error:
        raise ConfigurationError(
            f"{setting} {listen}: {error.strerror}; each process on a host needs a port of its own,"
            f" for example RADARSTREAM_{setting.upper().replace('.', '__')}=127.0.0.1:9475, or none"
            " (empty)"
        ) from None
    registry.register(health)
    host, port = endpoint.server_address[:2]
    thread = Thread(target=endpoint.serve_forever, args=(POLL_S,), name="telemetry", daemon=True)
    thread.start()
    log.info("telemetry listens", host=host, port=port)
    try:
        yield port
    finally:
        endpoint.shutdown()
        endpoint.server_close()
        thread.join()
        registry.unregister(health)


class Endpoint(ThreadingHTTPServer):
    """Accepts connections, a thread each."""

    block_on_close = False
    request_queue_size = 64

    def __init__(self, listen: str, registry: CollectorRegistry, health: Health) -> None:
        self.registry, self.health = registry, health
        host, port = host_and_port(listen)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self.address_family, *_, address = found[0]
        super().__init__(address, Request)  # type: ignore[arg-type]

    def server_bind(self) -> None:
        """Bind without a DNS look-up of this host's name."""
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of clients that disconnected or were too slow."""


class Request(BaseHTTPRequestHandler):
    """Answers one request; neither logs nor repeats its content."""

    server: Endpoint
    timeout = DEADLINE_S

    def do_GET(self) -> None:  # noqa: N802 named by the base class
        """Send one of the three pages; log errors of its collectors."""
        health = self.server.health
        try:
            match self.path.partition("?")[0]:
                case "/metrics":
                    encode, kind = choose_encoder(self.headers.get("Accept", ""))
                    self.answer(HTTPStatus.OK, encode(self.server.registry), kind)
                case "/healthz":
                    self.tell(health.life(), good=health.alive)
                case "/readyz":
                    self.tell(health.readiness(), good=health.ready)
                case _:
                    self.send_error(HTTPStatus.NOT_FOUND)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 a library's collector may raise anything
            log.warning("telemetry request failed", error=error)
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)

    def tell(self, value: dict[str, object], *, good: bool) -> None:
        """Send a body of JSON."""
        status = HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE
        self.answer(status, json.dumps(value).encode(), "application/json")

    def answer(self, status: HTTPStatus, body: bytes, content_type: str = "text/plain") -> None:
        """Send a response."""
        self.send_response_only(status)
        self.send_header("Content-Type", content_type)
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse without repeating the request, unlike the base class."""
        status = REFUSED.get(HTTPStatus(code), HTTPStatus(code))
        self.answer(status, f"{status.phrase}\n".encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing of a request."""
