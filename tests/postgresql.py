"""A real PostgreSQL server of our own; it listens on no network address."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.long)  # in `make test-all`
READY_S = 120.0
ROOM = 4 * 2**30  # bytes; the databases of a whole run take one
_numbers = count()
UNPRIVILEGED = {"user": "nobody", "group": "nogroup", "extra_groups": []}


def demotion() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: give its processes an ordinary system user."""
    return UNPRIVILEGED if os.geteuid() == 0 else {}


def server_binaries() -> Path | None:
    """The directory of initdb and postgres that this machine's user can run, pgserver's first."""
    spec = find_spec("pgserver")
    places = [
        Path(p) / "pginstall" / "bin" for p in (spec.submodule_search_locations if spec else [])
    ]
    installed = shutil.which("initdb")
    places += [Path(installed).resolve().parent] if installed else []
    return next((place for place in places if _runs(place / "postgres")), None)


def _runs(program: Path) -> bool:
    try:
        subprocess.run(
            [program, "--version"], check=True, capture_output=True, cwd="/", **demotion()
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


class PostgresqlServer:
    """A server in a new directory."""

    def __init__(self, binaries: Path, home: Path) -> None:
        self.socket = str(home)  # the host to connect to
        self._home, self._binaries = home, binaries
        self._data = home / "data"

    def create(self) -> None:
        options = ["-U", "postgres", "--auth=trust", "--no-sync", "--no-locale", "--encoding=UTF8"]
        self._run([self._binaries / "initdb", "-D", self._data, *options])

    def start(self) -> None:
        """Start it, or start it again after `stop` or `kill`."""
        options = f"-k {self._home} -h '' -F"  # sockets here, no network address, no flush to disk
        deadline = time.monotonic() + READY_S
        while True:
            try:
                self._control("-o", options, "start")
            except subprocess.CalledProcessError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)  # a child of the killed server is still there
            else:
                return

    def stop(self, mode: str = "fast") -> None:
        self._control("-m", mode, "stop")

    def kill(self) -> None:
        """SIGKILL to the server; its children notice and end."""
        os.kill(self.process_id(), signal.SIGKILL)

    def process_id(self) -> int:
        """The process that all others of the server are children of."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def new_database(self) -> str:
        """The URL of a database with nothing in it."""
        name = f"state_{next(_numbers)}"
        with psycopg.connect(
            host=self.socket, user="postgres", dbname="postgres", autocommit=True
        ) as admin:
            admin.execute(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={self.socket}"

    def _control(self, *arguments: str) -> None:
        control = [self._binaries / "pg_ctl", "-w", "-D", self._data, "-l", self._home / "log"]
        self._run([*control, *arguments])

    def _run(self, command: list[Any]) -> None:
        with (self._home / "said").open("ab") as said:  # a pipe would stay open with the server
            subprocess.run(
                command, check=True, stdout=said, stderr=said, cwd=self._home, **demotion()
            )


def place() -> str:
    """Where servers keep their data: in memory if there is room.

    Deleting some ten thousand files from a disk takes minutes where it discards blocks.
    """
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free >= ROOM
    return str(memory) if roomy else "/tmp"


@contextmanager
def running_server() -> Iterator[PostgresqlServer]:
    """A server that is stopped at the end. Skips the test where there is none."""
    binaries = server_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL binaries that an unprivileged user can run: install pgserver")
    home = Path(tempfile.mkdtemp(prefix="pg-", dir=place()))  # a socket path has 107 bytes at most
    if os.geteuid() == 0:
        shutil.chown(home, "nobody", "nogroup")
    server = PostgresqlServer(binaries, home)
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):  # a test may have stopped it
                server.stop("immediate")  # its data goes too
    finally:
        shutil.rmtree(home)
