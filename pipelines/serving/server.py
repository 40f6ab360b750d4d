"""Runs the service: an HTTP server that gives up on slow clients and stops gracefully."""

import asyncio
import ipaddress
import socket
from asyncio import TimerHandle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, ClassVar, Final

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.job.telemetry import endpoint
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.serving.access import KNOWN
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.operations import ServiceHealth
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import ConfigurationError

HEAD_BYTES: Final = 16_384
HEAD_S: Final = 10.0  # for the head of a request to arrive
IDLE_S: Final = 30.0  # between two requests of a connection
BACKLOG: Final = 512
ACCEPTED: Final = 128  # connections at once, before anything is read: fewer than `connections`
TICK_S: Final = 1.0  # how often the event loop shows that it turns
PREFIX: Final = 64  # bits of an IPv6 address that a network gives to one customer

log = structlog.get_logger("radarstream")


class Patient(H11Protocol):
    """A connection that ends when a request's head is late, or too many have no known user."""

    _deadline: TimerHandle | None = None
    most: ClassVar[int]  # of connections without a request of a known user

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.network, self.since = network_of(self.client[0] if self.client else ""), monotonic()
        self._wait()
        make_room(self.connections, self.most)

    @property
    def known(self) -> bool:
        """Whether a request of a known user is in hand."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and bool(cycle.scope.get(KNOWN))

    def on_response_complete(self) -> None:
        """Wait for another request."""
        self.since = monotonic()
        super().on_response_complete()

    def data_received(self, data: bytes) -> None:
        """Wait on, or no longer where the head is whole."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        working = self.cycle is not None and not self.cycle.response_complete
        if working:
            self._stop_waiting()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def make_room(connections: set[Any], most: int) -> None:
    """Of more than `most` connections without a known user cut off one of the largest network."""
    if len(connections) <= most:
        return
    idle = [connection for connection in connections if not connection.known]
    if len(idle) > most:
        crowd = Counter(connection.network for connection in idle)
        gone = max(idle, key=lambda one: (crowd[one.network], -one.since))
        connections.discard(gone)
        gone.transport.abort()


def network_of(host: str) -> str:
    """The address, or the network of an IPv6 address: whoever has one has all of that.

    >>> network_of("192.0.2.7"), network_of("::ffff:192.0.2.7"), network_of("2001:db8::7%eth0")
    ('192.0.2.7', '192.0.2.7', '2001:db8::/64')
    """
    if ":" not in host:
        return host
    address = ipaddress.IPv6Address(host.partition("%")[0])
    return str(address.ipv4_mapped or ipaddress.IPv6Network((address, PREFIX), strict=False))


class Server(uvicorn.Server):
    """A server that leaves signals to us, so that a stop is no death by signal."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signals over."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Let more connections wait than are accepted at once."""
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)


def run_service(app: FastAPI, listening: socket.socket) -> None:
    """Serve on a bound socket until SIGTERM or SIGINT; what is in hand is finished before."""
    context: Context = app.state.context
    configure_logging(context.settings.telemetry)
    stop = Stop()
    stop.install()
    asyncio.run(serving(app, stop, listening))


async def serving(app: FastAPI, stop: Stop, listening: socket.socket) -> None:
    """Serve until `stop`, or for at most `serving.stop_s` longer."""
    context: Context = app.state.context
    server = Server(server_config(app, context.settings))

    async def watch() -> None:
        await asyncio.to_thread(stop.event.wait)
        log.info("stopping", state="stopping")
        context.stopping.set()
        server.should_exit = True

    health = ServiceHealth(context)

    async def live() -> None:
        while True:
            health.tick()
            await asyncio.sleep(TICK_S)

    name, registry = "serving.health_listen", context.metrics.registry
    with endpoint.serving(context.settings.serving.health_listen, registry, health, name):
        watching, living = asyncio.create_task(watch()), asyncio.create_task(live())
        host, port = listening.getsockname()[:2]
        log.info("service listens", host=host, port=port, state="ready")
        try:
            await server.serve(sockets=[listening])
        finally:
            stop.event.set()
            await watching
            living.cancel()
    log.info("stopped", state="stopped")


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How the HTTP server is set up."""
    serving = settings.serving
    return uvicorn.Config(
        app,
        http=type("Patient", (Patient,), {"most": serving.connections}),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(serving.proxies),
        forwarded_allow_ips=list(serving.proxies),
        timeout_keep_alive=int(IDLE_S),
        timeout_graceful_shutdown=max(1, round(serving.stop_s)),
        h11_max_incomplete_event_size=HEAD_BYTES,
        backlog=ACCEPTED,
    )


def bound(listen: str) -> socket.socket:
    """A socket that listens on host:port. Raises ConfigurationError."""
    host, port = host_and_port(listen)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        raise ConfigurationError(
            f"serving.listen {listen}: {error.strerror}; choose another port, for example"
            " RADARSTREAM_SERVING__LISTEN=127.0.0.1:8081"
        ) from None
    return listening
