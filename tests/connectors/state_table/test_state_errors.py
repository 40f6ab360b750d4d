"""Which database errors pass by themselves: real restarts, locks, full and read-only databases."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError

from radarstream.connectors.state_table.database.engine import (
    database_code,
    is_transient,
    open_engine,
)
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.outbox import append, depth
from radarstream.schemas.errors import DatabaseUnavailableError
from radarstream.schemas.records import Envelope, OutboxRecord

ROW = MemoryRow("q-1", "radar", 1, 1_700_000_000_000, "log", 0, 0, b"{}")


@pytest.fixture
def sqlite_engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}", busy_timeout_s=0.02)
    yield engine
    engine.dispose()


@pytest.fixture
def server_engine(postgresql_server: Any) -> Iterator[Engine]:
    engine = open_engine(f"postgresql://postgres@/postgres?host={postgresql_server.socket}")
    yield engine
    engine.dispose()


def failure(work: Callable[[], object]) -> DBAPIError:
    with pytest.raises(DBAPIError) as caught:
        work()
    return caught.value


def large_event() -> OutboxRecord:
    envelope = Envelope(id="e", type="t", source="s", partitionkey="q-1", dataschema="urn:x")
    return OutboxRecord("answers.defended", envelope, b"x" * 1_000_000)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_restart_passes_and_the_fold_succeeds_after_it(
    server_engine: Engine, postgresql_server: Any, mode: str
) -> None:
    with server_engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        postgresql_server.stop(mode)
        assert is_transient(failure(lambda: connection.execute(text("SELECT 1"))))
    stopped = failure(lambda: commit_fold(server_engine, None, ROW))
    assert isinstance(stopped, OperationalError)
    assert is_transient(stopped)
    postgresql_server.start()
    commit_fold(server_engine, None, ROW)
    postgresql_server.stop(mode)
    postgresql_server.start()
    assert load(server_engine, ["q-1"]) == {"q-1": ROW}  # the pool noticed the dead connection


def test_a_connection_that_an_administrator_ended_passes(server_engine: Engine) -> None:
    with server_engine.connect() as connection, server_engine.connect() as admin:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        admin.execute(text("SELECT pg_terminate_backend(:process, 5000)"), {"process": process})
        assert is_transient(failure(lambda: connection.execute(text("SELECT 1"))))


def test_a_lock_that_others_hold_passes(state_url: str, engine: Engine) -> None:
    commit_fold(engine, None, ROW)
    impatient = open_engine(state_url, busy_timeout_s=0.02)
    newer = MemoryRow("q-1", "radar", 2, ROW.as_of_ms + 1, "log", 0, 1, b"{}")
    with engine.begin() as holder:
        holder.execute(text("UPDATE memory SET step = step"))
        assert is_transient(failure(lambda: commit_fold(impatient, ROW, newer)))
    assert commit_fold(impatient, ROW, newer) == newer
    impatient.dispose()


def test_a_full_disk_does_not_pass(sqlite_engine: Engine) -> None:
    event.listen(sqlite_engine, "checkout", lambda c, *_: c.execute("PRAGMA max_page_count = 40"))
    full = failure(lambda: append(sqlite_engine, [large_event()]))
    assert "full" in str(full)
    assert not is_transient(full)
    assert database_code(full) == "SQLITE_FULL"
    assert depth(sqlite_engine) == 0


def test_whatever_the_error_a_broken_connection_passes() -> None:
    error = psycopg.DatabaseError("lost synchronisation")
    assert is_transient(DBAPIError("SELECT", None, error, connection_invalidated=True))
    assert not is_transient(DBAPIError("SELECT", None, error))


def test_a_database_that_became_read_only_does_not_pass(engine: Engine) -> None:
    read_only = {
        "sqlite": "PRAGMA query_only = ON",
        "postgresql": "SET default_transaction_read_only = on",
    }[engine.dialect.name]

    def forbid(connection: Any, *_: object) -> None:
        connection.execute(read_only)
        connection.commit()

    event.listen(engine, "checkout", forbid)
    refused = failure(lambda: commit_fold(engine, None, ROW))
    assert "read" in str(refused)
    assert not is_transient(refused)


def test_mistakes_do_not_pass(engine: Engine) -> None:
    def run(statement: str) -> Callable[[], object]:
        def work() -> None:
            with engine.begin() as connection:
                connection.execute(text(statement))

        return work

    assert not is_transient(failure(run("SELECT * FROM nowhere")))
    assert not is_transient(failure(run("INSERT INTO memory (query_id) VALUES ('q')")))
    assert not is_transient(failure(run("SELEC")))
    assert not is_transient(ConnectionError("a broker"))


def test_a_damaged_file_does_not_pass(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{path}")
    commit_fold(engine, None, ROW)
    engine.dispose()
    path.write_bytes(b"not a database" * 1_000)
    assert not is_transient(failure(lambda: load(engine, ["q-1"])))
    engine.dispose()


def test_a_server_that_does_not_answer_is_no_mistake_in_the_settings() -> None:
    with pytest.raises(DatabaseUnavailableError, match="cannot reach the state database state"):
        open_engine("postgresql://user:s3cret@127.0.0.1:1/state")
