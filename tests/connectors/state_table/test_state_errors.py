"""Which database errors pass by themselves: restarts, locks, read-only and lost databases."""

import os
from collections.abc import Callable, Iterator
from os import umask
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DBAPIError, OperationalError

from radarstream.connectors.state_table.database.engine import is_transient, open_engine
from radarstream.connectors.state_table.database.groups import (
    enter,
    insist_on_mark,
    insist_on_offsets,
    note_offsets,
)
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, count, load
from radarstream.schemas.codec import encode_state
from radarstream.schemas.errors import ConfigurationError, DatabaseUnavailableError

ROW = MemoryRow("q-1", "radar", 1, 1_700_000_000_000, "log", 0, 0, b"{}")


@pytest.fixture
def server_engine(postgresql_server: Any) -> Iterator[Engine]:
    engine = open_engine(f"postgresql://postgres@/postgres?host={postgresql_server.socket}")
    yield engine
    engine.dispose()


def failure(work: Callable[[], object]) -> DBAPIError:
    with pytest.raises(DBAPIError) as caught:
        work()
    return caught.value


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
        assert load(impatient, ["q-1"]) == {"q-1": ROW}  # readers do not wait for a writer
    assert commit_fold(impatient, ROW, newer) == newer
    impatient.dispose()


def test_broken_connections_pass_and_servers_may_not_answer() -> None:
    error = psycopg.DatabaseError("lost synchronisation")
    assert is_transient(DBAPIError("SELECT", None, error, connection_invalidated=True))
    assert not is_transient(DBAPIError("SELECT", None, error))
    with pytest.raises(DatabaseUnavailableError, match="cannot reach the state database state"):
        open_engine("postgresql://user:s3cret@127.0.0.1:1/state")


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


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_went_away_is_refused(tmp_path: Path, replaced: bool) -> None:
    file = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{file}")
    assert count(engine) == 0
    file.rename(tmp_path / "elsewhere.db")
    if replaced:
        open_engine(f"sqlite:///{file}").dispose()
    with pytest.raises(ConfigurationError, match="deleted or replaced"):
        count(engine)
    engine.dispose()


def test_a_new_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    before, old = tmp_path.stat().st_mode, umask(0)
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    try:
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM memory"))
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        umask(old)
        engine.dispose()
    assert modes == dict.fromkeys(("state.db", "state.db-wal", "state.db-shm"), 0o600)
    assert tmp_path.stat().st_mode == before


# --- a database that was lost, or is new, or changed meanwhile ------------------------------------


HERE = ("log", 0)


def entered(
    engine: Engine, committed: int = 0, *, group: str = "g", start_over: bool = False
) -> str:
    return enter(engine, group, {HERE: committed}, start_over=start_over, now_ms=7)


def test_a_database_behind_its_group_is_refused(engine: Engine) -> None:
    """Empty, an older copy, another log, another partition or another group: one check."""
    with pytest.raises(ConfigurationError, match=r"is empty or .*group g .*--start-over"):
        entered(engine, 1)
    with pytest.raises(ConfigurationError):  # nothing was entered by the first try
        entered(engine, 1)
    mark = entered(engine)
    note_offsets(engine, "g", {HERE: 5})
    for committed in (0, 4, 5):  # a crash before the commit leaves the broker behind
        assert entered(engine, committed) == mark
    for where in (HERE, ("log", 1), ("made anew", 0)):
        with pytest.raises(ConfigurationError, match="is an older copy"):
            insist_on_offsets(engine, "g", {where: 6})
    insist_on_offsets(engine, "g", {("made anew", 0): 0})
    with pytest.raises(ConfigurationError):
        entered(engine, 1, group="h")
    insist_on_mark(engine, "g", mark)


def test_starting_over_takes_over_and_slow_workers_take_nothing_back(engine: Engine) -> None:
    mark = entered(engine, 9, start_over=True)
    assert entered(engine, 9) == mark
    with pytest.raises(ConfigurationError):
        entered(engine, 10)
    note_offsets(engine, "g", {HERE: 50, ("log", 1): 1})
    note_offsets(engine, "g", {HERE: 40, ("log", 1): 2})
    insist_on_offsets(engine, "g", {HERE: 50, ("log", 1): 2})


def test_an_imported_memory_is_no_empty_database(tmp_path: Path) -> None:
    old, new = (open_engine(f"sqlite:///{tmp_path / name}") for name in ("old.db", "new.db"))
    note_offsets(old, "g", {HERE: 5})
    commit_fold(old, None, MemoryRow("q-1", "radar", 1, 5, "cluster", 0, 4, encode_state(None)))
    file = tmp_path / "export.jsonl"
    file.write_text("".join(export_lines(old)))
    import_file(new, file)
    assert entered(new, 5)
    for engine in (old, new):
        engine.dispose()


def test_a_database_that_was_emptied_while_in_use_is_noticed(engine: Engine) -> None:
    mark = entered(engine)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM consumer_groups"))
    with pytest.raises(ConfigurationError, match="emptied, damaged or replaced while"):
        insist_on_mark(engine, "g", mark)
    entered(engine)  # by somebody else meanwhile: still another database
    with pytest.raises(ConfigurationError):
        insist_on_mark(engine, "g", mark)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE consumer_groups"))
    with pytest.raises(ConfigurationError, match="restore it, then start again"):
        insist_on_mark(engine, "g", mark)


@pytest.mark.parametrize("bytes_left", [0, 4_096])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, bytes_left: int) -> None:
    file = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{file}")
    mark = entered(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert count(engine) == 0
    os.truncate(file, bytes_left)
    with pytest.raises(ConfigurationError, match="cut off"):
        insist_on_mark(engine, "g", mark)
    with pytest.raises(ConfigurationError, match="cut off"):
        commit_fold(engine, None, ROW)
    engine.dispose()


def test_a_file_that_was_compacted_is_used_on(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{file}")
    mark = entered(engine)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE ballast (x BLOB)"))
        connection.execute(text("INSERT INTO ballast VALUES (zeroblob(300000))"))
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    insist_on_mark(engine, "g", mark)
    large = file.stat().st_size
    other = open_engine(f"sqlite:///{file}")
    with other.connect() as connection:
        connection.exec_driver_sql("DROP TABLE ballast")
        connection.exec_driver_sql("VACUUM")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert file.stat().st_size < large
    insist_on_mark(engine, "g", mark)
    for each in (engine, other):
        each.dispose()
