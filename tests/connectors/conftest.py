"""A SQLite file and a real PostgreSQL server, each as the URL of an empty state database."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine

from connectors.state_table.engine import open_engine

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
    """A server of our own in a new directory; it listens on no network address."""

    def __init__(self, binaries: Path, home: Path) -> None:
        self.socket = str(home)  # the host to connect to
        self._home, self._binaries = home, binaries
        self._data = home / "data"

    def create(self) -> None:
        options = ["-U", "postgres", "--auth=trust", "--no-sync", "--no-locale", "--encoding=UTF8"]
        self._run([self._binaries / "initdb", "-D", self._data, *options])

    def start(self) -> None:
        options = f"-k {self._home} -h '' -F"  # sockets here, no network address, no flush to disk
        self._control("-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._control("-m", mode, "stop")

    def _control(self, *arguments: str) -> None:
        control = [self._binaries / "pg_ctl", "-w", "-D", self._data, "-l", self._home / "log"]
        self._run([*control, *arguments])

    def _run(self, command: list[Any]) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._home, **demotion())


@contextmanager
def running_server() -> Iterator[PostgresqlServer]:
    binaries = server_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL binaries that an unprivileged user can run: install pgserver")
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket path has 107 bytes at most
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


@pytest.fixture(scope="session")
def postgresql_socket() -> Iterator[str]:
    """The socket directory of a server that the tests share."""
    with running_server() as server:
        yield server.socket


@pytest.fixture
def postgresql_server() -> Iterator[PostgresqlServer]:
    """A server for one test, which may stop and start it."""
    with running_server() as server:
        yield server


_numbers = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def state_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state.db'}"
    socket = request.getfixturevalue("postgresql_socket")
    name = f"state_{next(_numbers)}"
    with psycopg.connect(host=socket, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    return f"postgresql://postgres@/{name}?host={socket}"


@pytest.fixture
def engine(state_url: str) -> Iterator[Engine]:
    """The database, open, with its tables."""
    opened = open_engine(state_url, busy_timeout_s=10.0)
    yield opened
    opened.dispose()
