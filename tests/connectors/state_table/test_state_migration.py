"""Databases of every release come to this one's schema with their rows, or stay as they are."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, make_url, select, text

import radarstream.connectors.state_table.database.migration
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.migration import (
    HEAD,
    REVISIONS,
    bring_to_head,
    pending_sql,
    stored_version,
)
from radarstream.connectors.state_table.database.tables import METADATA, RESPONSE_CACHE
from radarstream.connectors.state_table.queries.memory import MemoryRow, load
from radarstream.connectors.state_table.queries.outbox import append, pending
from radarstream.schemas.codec.cloud_events import encode_envelope
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import Envelope, OutboxRecord

ROOT = Path(__file__).parents[3]
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}

# As the first release and the work on the second created them, kept as they were.
FIRST_RELEASE = (
    """CREATE TABLE memory (query_id TEXT NOT NULL, defense TEXT NOT NULL, step BIGINT NOT NULL,
    as_of_ms BIGINT NOT NULL, log_epoch TEXT NOT NULL, log_partition INTEGER NOT NULL,
    log_offset BIGINT NOT NULL, state {blob} NOT NULL, log_high_offset BIGINT NOT NULL,
    PRIMARY KEY (query_id))""",
    """CREATE TABLE outbox (seq {serial}, topic TEXT NOT NULL, event_id TEXT NOT NULL,
    "key" TEXT NOT NULL, envelope TEXT NOT NULL, data {blob} NOT NULL,
    CONSTRAINT outbox_event UNIQUE (topic, event_id))""",
    """CREATE TABLE response_cache ("key" {blob} NOT NULL, value {blob} NOT NULL,
    stamp BIGINT NOT NULL, PRIMARY KEY ("key"))""",
    "CREATE INDEX response_cache_stamp ON response_cache (stamp)",
)
WITH_LANES = (*FIRST_RELEASE, "ALTER TABLE outbox ADD COLUMN lane INTEGER DEFAULT '0' NOT NULL")
UNVERSIONED = {"first release": FIRST_RELEASE, "with lanes": WITH_LANES}
TYPES = {
    "sqlite": {"blob": "BLOB", "serial": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT"},
    "postgresql": {"blob": "BYTEA", "serial": "BIGSERIAL PRIMARY KEY"},
}

ROW = MemoryRow("q-1", "radar", 3, 1_700_000_000_000, "cluster", 2, 41, b"\x00state", 44)
EVENT = OutboxRecord(
    "answers.defended",
    Envelope(id="q-1/3", type="t", source="s", partitionkey="q-1", dataschema="urn:x"),
    b"{}",
)


@contextmanager
def untouched(url: str) -> Iterator[Engine]:
    """The database without its schema being looked at."""
    engine = open_engine(url, migrate=False)
    yield engine
    engine.dispose()


def create_unversioned(url: str, statements: Sequence[str]) -> None:
    with untouched(url) as engine, engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement.format(**TYPES[engine.dialect.name])))
        columns = list(MemoryRow.__slots__)
        marks = ", ".join(f":{name}" for name in columns)
        insert = f"INSERT INTO memory ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
        connection.execute(text(insert), {name: getattr(ROW, name) for name in columns})
        connection.execute(
            text(
                'INSERT INTO outbox (topic, event_id, "key", envelope, data)'
                " VALUES (:topic, :id, 'q-1', :envelope, :data)"
            ),
            {
                "topic": EVENT.topic,
                "id": EVENT.event_id,
                "envelope": encode_envelope(EVENT.envelope),
                "data": EVENT.data,
            },
        )
        connection.execute(
            text('INSERT INTO response_cache ("key", value, stamp) VALUES (:key, :value, 7)'),
            {"key": b"k", "value": b"v"},
        )


def differences(connection: Connection) -> list[object]:
    options = {"compare_type": True, "compare_server_default": True}
    return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)


def shape(url: str) -> dict[str, list[str]]:
    with untouched(url) as engine:
        found = inspect(engine)
        return {
            table: [column["name"] for column in found.get_columns(table)]
            for table in found.get_table_names()
        }


def assert_whole(engine: Engine) -> None:
    """The rows of `create_unversioned` are there, in the schema of this release."""
    with engine.connect() as connection:
        assert differences(connection) == []
        assert stored_version(connection) == HEAD
        cached = connection.execute(select(RESPONSE_CACHE)).all()
    assert [tuple(entry) for entry in cached] == [(b"k", b"v", 7, None)]
    assert load(engine, ["q-1"]) == {"q-1": ROW}
    append(engine, [EVENT])  # there already
    assert [record for _, record in pending(engine, lanes=[0])] == [EVENT]


def test_a_new_database_has_the_tables_of_the_code(engine: Engine) -> None:
    with engine.connect() as connection:
        assert differences(connection) == []
        assert stored_version(connection) == HEAD
    assert bring_to_head(engine) == HEAD


def details(url: str) -> dict[str, object]:
    """Everything that the database tells of its tables."""
    with untouched(url) as engine:
        found = inspect(engine)
        return {
            table: (
                [{**c, "type": str(c["type"])} for c in found.get_columns(table)],
                found.get_pk_constraint(table),
                sorted(map(str, found.get_indexes(table))),
                sorted(map(str, found.get_unique_constraints(table))),
                sorted(map(str, found.get_foreign_keys(table))),
                sorted(map(str, found.get_check_constraints(table))),
            )
            for table in found.get_table_names()
        }


def test_a_new_database_is_one_that_went_through_all_migrations(state_url: str) -> None:
    with untouched(state_url) as engine:
        apply(state_url, pending_sql(engine))
    migrated = details(state_url)
    with untouched(state_url) as engine, engine.begin() as connection:
        for table in migrated:
            connection.execute(text(f"DROP TABLE {table}"))
    open_engine(state_url).dispose()
    assert details(state_url) == migrated


@pytest.mark.parametrize("release", UNVERSIONED)
def test_a_database_without_versions_is_migrated_with_its_rows(
    state_url: str, release: str
) -> None:
    create_unversioned(state_url, UNVERSIONED[release])
    engine = open_engine(state_url)
    assert_whole(engine)
    engine.dispose()


def test_the_comparison_would_see_a_difference(engine: Engine) -> None:
    with engine.connect() as connection:
        connection.execute(text("DROP INDEX outbox_lane"))
        connection.execute(text("ALTER TABLE watchlist ADD COLUMN surplus TEXT"))
        assert len(differences(connection)) == 2


def test_a_later_schema_is_refused_and_left_alone(state_url: str) -> None:
    open_engine(state_url).dispose()
    with untouched(state_url) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = shape(state_url)
    with pytest.raises(ConfigurationError, match="'9999'.*update radarstream"):
        open_engine(state_url)
    with untouched(state_url) as engine, pytest.raises(ConfigurationError, match="9999"):
        pending_sql(engine)
    assert shape(state_url) == before


def test_a_migration_that_fails_changes_nothing(state_url: str) -> None:
    create_unversioned(state_url, FIRST_RELEASE)
    with untouched(state_url) as engine, engine.begin() as connection:
        connection.execute(text("CREATE TABLE source_ledger (not_ours TEXT)"))
    before = shape(state_url)
    with pytest.raises(ConfigurationError, match="source_ledger.*already exists"):
        open_engine(state_url)
    assert shape(state_url) == before
    assert "alembic_version" not in before
    with untouched(state_url) as engine, engine.begin() as connection:
        connection.execute(text("DROP TABLE source_ledger"))
    engine = open_engine(state_url)
    assert_whole(engine)
    engine.dispose()


def test_processes_that_open_an_old_database_at_once_migrate_it_once(state_url: str) -> None:
    create_unversioned(state_url, FIRST_RELEASE)
    program = (
        "import sys; from radarstream.connectors.state_table.database.engine import open_engine;"
        "open_engine(sys.argv[1])"
    )
    command = [sys.executable, "-c", program, state_url]
    starts = [subprocess.Popen(command, cwd=ROOT, env=ENV) for _ in range(3)]
    assert [process.wait(timeout=60) for process in starts] == [0, 0, 0]
    engine = open_engine(state_url)
    assert_whole(engine)
    engine.dispose()


@pytest.mark.parametrize("new", [True, False])
def test_a_new_database_and_one_at_head_do_without_alembic(state_url: str, new: bool) -> None:
    if not new:
        open_engine(state_url).dispose()
    program = (
        "import sys; from radarstream.connectors.state_table.database.engine import open_engine; "
        "open_engine(sys.argv[1]); sys.exit('alembic' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program, state_url], cwd=ROOT, env=ENV).returncode
        == 0
    )


def test_a_start_at_head_waits_for_no_migration(postgresql_socket: str) -> None:
    url = f"postgresql://postgres@/postgres?host={postgresql_socket}"
    with untouched(url) as engine, engine.begin() as holder:
        lock = radarstream.connectors.state_table.database.migration._CREATION_LOCK
        open_engine(url).dispose()
        holder.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})
        open_engine(url, busy_timeout_s=0.2).dispose()


def test_the_list_of_revisions_is_that_of_the_files() -> None:
    home = Path(radarstream.connectors.state_table.database.migration.__file__).with_name(
        "migrations"
    )
    scripts = ScriptDirectory(home)
    assert scripts.get_current_head() == HEAD
    assert tuple(s.revision for s in scripts.walk_revisions())[::-1] == REVISIONS


# --- SQL for an administrator ----------------------------------------------------------------


def apply(url: str, script: str) -> None:
    """Run the script as an administrator would, with the database's own tool."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        with sqlite3.connect(str(parsed.database)) as database:
            database.executescript(script)
        database.close()
        return
    host = parsed.query["host"]
    assert isinstance(host, str)
    with psycopg.connect(
        host=host, user="postgres", dbname=parsed.database, autocommit=True
    ) as connection:
        connection.execute(script.encode())


@pytest.mark.parametrize("release", UNVERSIONED)
def test_the_printed_sql_does_what_opening_does(state_url: str, release: str) -> None:
    create_unversioned(state_url, UNVERSIONED[release])
    with untouched(state_url) as engine:
        script = pending_sql(engine)
    assert shape(state_url)["memory"] == list(MemoryRow.__slots__)  # nothing was executed
    assert "alembic_version" not in shape(state_url)
    apply(state_url, script)
    with untouched(state_url) as engine:
        assert_whole(engine)
        assert pending_sql(engine) == ""


def test_the_printed_sql_creates_a_database(state_url: str) -> None:
    with untouched(state_url) as engine:
        script = pending_sql(engine)
        assert script.count("CREATE TABLE") == len(METADATA.tables) + 1
        apply(state_url, script)
        with engine.connect() as connection:
            assert differences(connection) == []
            assert stored_version(connection) == HEAD


def test_a_user_who_may_not_create_tables_is_told_of_the_sql(postgresql_socket: str) -> None:
    with psycopg.connect(
        host=postgresql_socket, user="postgres", dbname="postgres", autocommit=True
    ) as admin:
        admin.execute("CREATE DATABASE restricted")
        admin.execute("CREATE ROLE worker LOGIN")
    url = f"postgresql://worker@/restricted?host={postgresql_socket}"
    with pytest.raises(ConfigurationError, match=r"permission denied.*migrate --sql"):
        open_engine(url)
    owner = open_engine(url.replace("worker", "postgres"))
    with owner.begin() as connection:
        connection.execute(text("GRANT ALL ON ALL TABLES IN SCHEMA public TO worker"))
    owner.dispose()
    worker = open_engine(url)
    assert load(worker, ["q-1"]) == {}
    worker.dispose()


def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """SQLite does not wait for others that switch a new file to write-ahead logging."""
    starters = 8
    for name in map(str, range(25)):
        together = Barrier(starters)

        def start(_: int, name: str = name, together: Barrier = together) -> None:
            together.wait()
            open_engine(f"sqlite:///{tmp_path}/{name}.db").dispose()

        with ThreadPoolExecutor(starters) as pool:
            list(pool.map(start, range(starters)))
