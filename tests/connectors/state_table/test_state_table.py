"""The state table on SQLite and PostgreSQL: one winner per step, nothing lost to a kill."""

import sqlite3
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.event import listen
from sqlalchemy.exc import DBAPIError, OperationalError

from radarstream.connectors.state_table.database.engine import (
    database_code,
    is_transient,
    open_engine,
    retry_contended,
)
from radarstream.connectors.state_table.database.tables import RESPONSE_CACHE
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    advance,
    clear_run,
    commit_fold,
    load,
    unlearn,
)
from radarstream.connectors.state_table.queries.outbox import (
    append,
    mark_sent,
    pending,
    publish_outbox,
)
from radarstream.schemas.codec.state import encode_state
from radarstream.schemas.errors import (
    ConfigurationError,
    DatabaseUnavailableError,
    StateConflictError,
)
from radarstream.schemas.memory import Belief
from radarstream.schemas.records import OutboxRecord
from tests.brokers import event
from tests.clocks import at_once
from tests.programs import done

WRITERS = 8


def make_row(query_id: str = "q-1", step: int = 1, state: bytes = b"\x00\xff") -> MemoryRow:
    return MemoryRow(
        query_id=query_id,
        defense="radar",
        step=step,
        as_of_ms=1_700_000_000_000 + step,
        log_epoch="cluster-a",
        log_partition=0,
        log_offset=step,
        state=state,
    )


def make_event(identity: str, data: bytes = b"{}", topic: str = "answers.defended") -> OutboxRecord:
    return event("q-1", data, topic, identity)


class ListSink:
    def __init__(self) -> None:
        self.published: list[OutboxRecord] = []

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        self.published += records


# --- rows and events -------------------------------------------------------------------------


def test_rows_are_read_back_however_many(engine: Engine) -> None:
    row = replace(make_row(), query_id="Ünïcode 北京", state=bytes(range(256)))
    commit_fold(engine, None, row)
    assert load(engine, [row.query_id, "unknown", row.query_id]) == {row.query_id: row}
    assert load(engine, []) == {}
    rows = [make_row(f"q-{i}") for i in range(1_050)]
    for row in rows[::50]:
        commit_fold(engine, None, row)
    assert load(engine, [row.query_id for row in rows]) == {r.query_id: r for r in rows[::50]}


def test_row_and_events_are_written_together_or_not_at_all(engine: Engine) -> None:
    first, second = make_row(step=1), make_row(step=2)
    commit_fold(engine, None, first, [make_event("q-1/1")])
    commit_fold(engine, first, second, [make_event("q-1/2"), make_event("q-1/2/3")])
    with pytest.raises(StateConflictError):
        commit_fold(engine, first, make_row(step=2, state=b"stale"), [make_event("stale")])
    assert load(engine, ["q-1"]) == {"q-1": second}
    assert [entry.record.event_id for entry in pending(engine)] == ["q-1/1", "q-1/2", "q-1/2/3"]


def test_a_wrong_answer_is_unlearned_and_a_fold_under_way_is_done_again(engine: Engine) -> None:
    believing = make_row(state=encode_state(Belief("Bob Ray", 0.9, 0.1)))
    commit_fold(engine, None, believing)
    with engine.begin() as connection:
        assert not unlearn(connection, "q-1", "Ann Lee")
        assert not unlearn(connection, "q-2", "bob ray.")
        assert unlearn(connection, "q-1", "bob ray.")
        assert not unlearn(connection, "q-1", "bob ray.")
    assert load(engine, ["q-1"]) == {"q-1": replace(believing, state=encode_state(None))}
    with pytest.raises(StateConflictError):
        commit_fold(engine, believing, make_row(step=2), [make_event("q-1/2")])
    assert pending(engine) == []


@pytest.mark.parametrize(
    "new",
    [make_row(step=4), make_row(step=5), replace(make_row(step=6), as_of_ms=0), make_row("q-2", 6)],
    ids=["lower step", "same step", "earlier time", "other query"],
)
def test_a_row_never_moves_back(engine: Engine, new: MemoryRow) -> None:
    row = make_row(step=5)
    commit_fold(engine, None, row)
    with pytest.raises(ValueError, match="move back"):
        commit_fold(engine, row, new)
    assert load(engine, ["q-1"]) == {"q-1": row}


def test_the_highest_offset_of_a_log_is_kept(engine: Engine) -> None:
    first = replace(make_row(step=1), log_offset=6)
    second = replace(make_row(step=2), log_offset=5, log_high_offset=-1)
    assert first.log_high_offset == 6
    commit_fold(engine, None, first)
    stored = commit_fold(engine, first, second)
    assert (stored.log_offset, stored.log_high_offset) == (5, 6)
    assert load(engine, ["q-1"])["q-1"] == stored
    assert advance(first, replace(second, log_epoch="cluster-b")).log_high_offset == 5
    assert advance(first, replace(second, log_partition=1)).log_high_offset == 5


def test_the_stored_payload_wins_over_a_second_one_of_the_same_id(engine: Engine) -> None:
    append(engine, [make_event("e", b"first"), make_event("e", b"elsewhere", topic="other")])
    append(engine, [make_event("e", b"second"), make_event("f", b"new")])
    data = [(r.topic, r.data) for _, r in pending(engine)]
    assert data == [
        ("answers.defended", b"first"),
        ("other", b"elsewhere"),
        ("answers.defended", b"new"),
    ]


def test_events_come_back_whole_and_in_order(engine: Engine) -> None:
    events = [make_event(f"e-{i}", bytes([i])) for i in range(7)]
    append(engine, events)
    assert [r for _, r in pending(engine)] == events
    assert [r for _, r in pending(engine, limit=3)] == events[:3]
    mark_sent(engine, [entry.seq for entry in pending(engine, limit=3)])
    assert [r for _, r in pending(engine)] == events[3:]
    append(engine, [])
    mark_sent(engine, [])
    assert len(pending(engine)) == 4


def test_a_slow_publisher_cannot_mark_a_later_event_as_sent(engine: Engine) -> None:
    append(engine, [make_event("e-1")])
    slow = [entry.seq for entry in pending(engine)]
    publish_outbox(engine, ListSink())
    append(engine, [make_event("e-2")])
    mark_sent(engine, slow)
    assert [r.event_id for _, r in pending(engine)] == ["e-2"]


def test_a_worker_publishes_its_own_lanes_only(engine: Engine) -> None:
    events = [replace(make_event(f"e-{i}"), lane=i % 3) for i in range(9)]
    append(engine, events)
    assert [r.lane for _, r in pending(engine)] == [0, 1, 2] * 3
    assert [r.event_id for _, r in pending(engine, lanes=[2, 0], limit=3)] == ["e-0", "e-2", "e-3"]
    assert pending(engine, lanes=[]) == []
    assert pending(engine, lanes={7}) == []
    sink = ListSink()
    assert publish_outbox(engine, sink, limit=2, lanes={2, 0}) == 6
    assert sink.published == [event for event in events if event.lane != 1]
    assert [r for _, r in pending(engine)] == events[1::3]


def test_clear_run_keeps_the_response_cache_and_no_worker_brings_its_row_back(engine):
    old = commit_fold(engine, None, make_row(), [make_event("e")])
    with engine.begin() as connection:
        connection.execute(
            RESPONSE_CACHE.insert().values(key=b"k", value=b"v", stamp=1, subject=b"s")
        )
    clear_run(engine)
    with pytest.raises(StateConflictError):
        commit_fold(engine, old, make_row(step=8))
    assert load(engine, ["q-1"]) == {}
    assert pending(engine) == []
    with engine.connect() as connection:
        assert connection.execute(select(RESPONSE_CACHE.c.value)).scalars().all() == [b"v"]


# --- several writers -------------------------------------------------------------------------


def _race(attempt: Callable[[int], None]) -> int:
    """Run the attempts at the same moment; return how many did not lose."""

    def run(writer: int) -> bool:
        try:
            attempt(writer)
        except StateConflictError:
            return False
        return True

    return sum(at_once(run, WRITERS))


def test_of_many_writers_of_a_step_exactly_one_wins(engine: Engine) -> None:
    """Of the first step, which inserts a row, as of those that change it."""
    for query in ("q-1", "q-2", "q-3"):
        for step in range(1, 5):
            row = load(engine, [query]).get(query)

            def attempt(
                writer: int, query: str = query, step: int = step, row: MemoryRow | None = row
            ) -> None:
                new = make_row(query, step, bytes([writer]))
                commit_fold(engine, row, new, [make_event(f"{query}/{step}", bytes([writer]))])

            assert _race(attempt) == 1
            (entry,) = pending(engine)
            assert entry.record.event_id == f"{query}/{step}"
            assert load(engine, [query])[query] == make_row(query, step, entry.record.data)
            mark_sent(engine, [entry.seq])


# --- what the disk and the operator do -------------------------------------------------------


def test_a_full_disk_fails_the_fold_and_nothing_is_lost(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    pages = {"limit": 40}
    listen(engine, "checkout", lambda c, *_: c.execute(f"PRAGMA max_page_count = {pages['limit']}"))
    first = make_row(step=1)
    commit_fold(engine, None, first, [make_event("q-1/1")])
    large = [make_event("q-1/2", b"x" * 1_000_000)]
    with pytest.raises(OperationalError, match="full") as full:
        commit_fold(engine, first, make_row(step=2), large)
    assert (is_transient(full.value), database_code(full.value)) == (False, "SQLITE_FULL")
    assert load(engine, ["q-1"]) == {"q-1": first}
    assert [r.event_id for _, r in pending(engine)] == ["q-1/1"]
    pages["limit"] = 100_000
    commit_fold(engine, first, make_row(step=2), large)
    assert [r.event_id for _, r in pending(engine)] == ["q-1/1", "q-1/2"]
    engine.dispose()


def test_sqlite_settings_and_errors_that_quote_nothing(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}", busy_timeout_s=7.0)
    with engine.connect() as connection:
        names = ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        values = [connection.exec_driver_sql(f"PRAGMA {n}").scalar_one() for n in names]
    assert values == ["wal", 1, 7_000, 1]
    engine.dispose()
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    bad = replace(make_row(state=b"canary-state"), log_epoch=None)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="NOT NULL") as caught:
        commit_fold(engine, None, bad)
    assert "canary-state" not in str(caught.value)
    engine.dispose()


def test_an_unusable_url_is_refused_without_its_password() -> None:
    for url in [
        "hunter2", "mysql://root:hunter2@localhost/db",
        "nonsense+driver://root:hunter2@localhost/db", "postgresql://user:hunter2/x@localhost/db",
        "postgresql://user:hunter2@localhost:port/db", "postgresql://user:hunter2@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=u&password=hunter2",
        "postgresql://127.0.0.1:1/db?nosuch=hunter2",
        "postgresql+psycopg2://user:hunter2@127.0.0.1:1/db", "sqlite://", "sqlite:///:memory:",
        "sqlite:////proc/nowhere/state.db",
    ]:  # fmt: skip
        with pytest.raises((ConfigurationError, DatabaseUnavailableError)) as caught:
            open_engine(url)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_password_is_not_repeated(postgresql_socket: str) -> None:
    url = f"postgresql://nosuchuser:hunter2@/postgres?host={postgresql_socket}"
    with pytest.raises(ConfigurationError, match="nosuchuser") as caught:
        open_engine(url)
    assert "hunter2" not in str(caught.value)


READ_ONLY = """
import os, sys
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.schemas.errors import ConfigurationError
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)  # root may write anywhere
try:
    open_engine("sqlite:///" + sys.argv[1])
except ConfigurationError as error:
    print(error)
"""


@pytest.mark.parametrize("existing", [False, True])
def test_a_read_only_directory_is_a_configuration_error(tmp_path: Path, existing: bool) -> None:
    script = tmp_path / "read_only.py"
    script.write_text(READ_ONLY)
    with tempfile.TemporaryDirectory(prefix="state-") as name:
        directory, path = Path(name), Path(name) / "state.db"
        if existing:
            open_engine(f"sqlite:///{path}").dispose()
            path.chmod(0o444)
        directory.chmod(0o555)
        child = done(path, module=str(script))
        directory.chmod(0o755)
    assert child.returncode == 0, child.stderr
    assert "cannot write the state database" in child.stdout
    assert str(path) in child.stdout


def test_a_transaction_that_lost_against_a_lock_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    engine = open_engine(f"sqlite:///{path}", busy_timeout_s=0.02)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    failures = []

    def fold() -> None:
        try:
            commit_fold(engine, None, make_row())
        except OperationalError as error:
            failures.append(error)
            if len(failures) == 2:
                other.execute("ROLLBACK")
            raise

    retry_contended(fold)
    assert len(failures) == 2
    assert load(engine, ["q-1"]) == {"q-1": make_row()}
    other.close()
    engine.dispose()


def test_a_failure_that_is_no_lost_race_is_not_run_again(engine: Engine) -> None:
    calls = []

    def broken() -> None:
        calls.append(1)
        with engine.begin() as connection:
            connection.exec_driver_sql("SELECT * FROM nowhere")

    with pytest.raises(DBAPIError, match="nowhere"):
        retry_contended(broken)
    assert len(calls) == 1
