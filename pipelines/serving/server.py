"""Runs the service: an HTTP server that gives up on slow clients and stops gracefully."""

import asyncio
import socket
from asyncio import TimerHandle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import ConfigurationError

HEAD_BYTES: Final = 16_384
HEAD_S: Final = 10.0  # for the head of a request to arrive
IDLE_S: Final = 30.0  # between two requests of a connection
SPARE: Final = 64  # connections beside those that requests and streams may hold
BACKLOG: Final = 512

log = structlog.get_logger("radarstream")


class Patient(H11Protocol):
    """A connection that is cut off when the head of a request does not arrive in time."""

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

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


class Server(uvicorn.Server):
    """A server that leaves signals to us, so that a stop is no death by signal."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take no signals over."""
        yield


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

    watching = asyncio.create_task(watch())
    host, port = listening.getsockname()[:2]
    log.info("service listens", host=host, port=port, state="ready")
    try:
        await server.serve(sockets=[listening])
    finally:
        stop.event.set()
        await watching
    log.info("stopped", state="stopped")


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How the HTTP server is set up."""
    serving = settings.serving
    return uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(serving.proxies),
        forwarded_allow_ips=list(serving.proxies),
        limit_concurrency=serving.at_once + serving.streams + SPARE,
        timeout_keep_alive=int(IDLE_S),
        timeout_graceful_shutdown=max(1, round(serving.stop_s)),
        h11_max_incomplete_event_size=HEAD_BYTES,
        backlog=BACKLOG,
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
