"""Brokers and PostgreSQL servers for every test that wants one; tables as wide as in a pipe."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine
from tests.brokers import KAFKA, TANSU, Broker, running_broker
from tests.commands import forget_shared
from tests.postgresql import PostgresqlServer, running_server

_numbers = count()
# Parallel workers are told a terminal's width. It must go before the first module asks for it.
os.environ.pop("COLUMNS", None)
# On a busy machine a deadline fails tests that are right.
settings.register_profile("radarstream", deadline=None)
settings.load_profile("radarstream")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """What needs PostgreSQL runs in `make test-all`."""
    servers = {"shared_postgresql", "postgresql_server", "postgresql_socket"}
    for item in items:
        if servers & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.long)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A state database in a file."""
    opened = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.dispose()


@pytest.fixture(scope="session", params=["noida", TANSU, KAFKA])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """Each of the brokers in turn, shared by the session: use names of your own (`prefix`)."""
    with running_broker(request.param, tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
def own_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    """A broker that keeps its data, to be killed and started again by the test.

    It is noida unless a test names others: `parametrize("own_broker", [...], indirect=True)`.
    """
    kind = getattr(request, "param", "noida")
    with running_broker(kind, tmp_path / kind) as running:
        yield running


@pytest.fixture
def prefix() -> str:
    """A topic prefix and group name that no other test uses."""
    return f"test{next(_numbers)}."


@pytest.fixture(scope="session")
def shared_postgresql() -> Iterator[PostgresqlServer]:
    """A server that the tests share."""
    with running_server() as server:
        yield server


@pytest.fixture
def postgresql_server() -> Iterator[PostgresqlServer]:
    """A server for one test, which may stop and start it."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_socket(shared_postgresql: PostgresqlServer) -> str:
    """The socket directory of the shared server."""
    return shared_postgresql.socket


@pytest.fixture
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test runs in a directory of its own, as a process of its own would."""
    monkeypatch.chdir(tmp_path)
    yield
    forget_shared()
