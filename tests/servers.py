"""Servers on loopback only: processes that are killed and started again."""

import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import psutil

READY_S = 300.0  # a busy machine takes minutes; one that has ended is noticed at once
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_near(wanted: int) -> int:
    """The port that is wanted, or a free one where somebody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return free_port()
    return wanted


def listening(pid: int) -> set[str]:
    """The addresses on which a process listens."""
    found = psutil.Process(pid).net_connections("tcp")
    return {connection.laddr.ip for connection in found if connection.status == "LISTEN"}


def listens(port: int) -> bool:
    """Whether somebody listens on a port of 127.0.0.1."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


class Server(ABC):
    """One server process with a directory of its own; what it says goes to `log` there."""

    name = "server"
    environment: Mapping[str, str] | None = None
    outlives = False  # the process that starts it, and Ctrl-C there

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether it takes requests."""

    @property
    def log(self) -> Path:
        """What it has said, all starts one after the other."""
        return self.directory / "log"

    def start(self) -> None:
        """Start it, or start it again, and wait until it is ready. Raises RuntimeError."""
        self.launch()
        self.until_ready()

    def launch(self) -> None:
        """Start it and do not wait."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                cwd=self.directory,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                start_new_session=self.outlives,
            )

    def until_ready(self) -> None:
        """Wait until it is ready. Raises RuntimeError when it ends before, or takes too long."""
        deadline = time.monotonic() + READY_S
        while not self.ready():
            if not self.running or time.monotonic() > deadline:
                self.kill()
                said = self.log.read_text(errors="replace").strip() or "it said nothing"
                last = said.splitlines()[-1][-500:]
                raise RuntimeError(f"{self.name} did not start: {last} (see {self.log})")
            time.sleep(0.02)

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL, as a power cut would do it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        """Stop it from running, its connections open, until `thaw`."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def stop(self, patience_s: float = 10.0) -> None:
        """SIGTERM, and wait; SIGKILL if it does not end."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None


class Started(Protocol):
    """A server, or several."""

    def start(self) -> None: ...
    def kill(self) -> None: ...


StartedT = TypeVar("StartedT", bound=Started)


@contextmanager
def running(server: StartedT) -> Iterator[StartedT]:
    """Start a server or a cluster, and kill it at the end."""
    try:
        server.start()
        yield server
    finally:
        server.kill()
