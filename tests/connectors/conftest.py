"""A SQLite file or a real PostgreSQL server, each as the URL of an empty state database."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.transfer import export_lines
from tests.postgresql import POSTGRESQL, PostgresqlServer


@pytest.fixture(params=["sqlite", POSTGRESQL])
def state_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database with nothing in it."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state.db'}"
    server: PostgresqlServer = request.getfixturevalue("shared_postgresql")
    return server.new_database()


@pytest.fixture
def engine(state_url: str) -> Iterator[Engine]:
    """The database, open, with its tables."""
    opened = open_engine(state_url, busy_timeout_s=10.0)
    yield opened
    opened.dispose()


@pytest.fixture
def other_engine(tmp_path: Path) -> Iterator[Engine]:
    """A second database, in a file."""
    opened = open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    yield opened
    opened.dispose()


@pytest.fixture
def export(tmp_path: Path) -> Callable[[Engine], Path]:
    """Writes what `state export` writes of a database; the file."""

    def written(engine: Engine) -> Path:
        file = tmp_path / "state.jsonl"
        file.write_text("".join(export_lines(engine)), encoding="utf-8")
        return file

    return written
