"""A database gets this release's schema, or stays as it is."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, inspect, make_url, text

import radarstream.connectors.state_table.database.migration
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.migration import (
    HEAD,
    bring_to_head,
    pending_sql,
    stored_version,
)
from radarstream.connectors.state_table.database.tables import METADATA
from radarstream.connectors.state_table.queries.memory import load
from radarstream.schemas.errors import ConfigurationError
from tests.clocks import at_once


@contextmanager
def untouched(url: str) -> Iterator[Engine]:
    """The database without its schema being looked at."""
    engine = open_engine(url, migrate=False)
    yield engine
    engine.dispose()


def differences(connection: Connection) -> list[object]:
    options = {"compare_type": True, "compare_server_default": True}
    return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)


def test_a_new_database_has_the_tables_of_the_code(engine: Engine) -> None:
    with engine.connect() as connection:
        assert differences(connection) == []
        assert stored_version(connection) == HEAD
    assert bring_to_head(engine) == HEAD
    with engine.connect() as connection:
        connection.execute(text("DROP INDEX outbox_lane"))
        connection.execute(text("ALTER TABLE watchlist ADD COLUMN surplus TEXT"))
        assert len(differences(connection)) == 2


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


def test_a_new_database_is_what_the_printed_sql_creates(state_url: str) -> None:
    with untouched(state_url) as engine:
        script = pending_sql(engine)
        assert script.count("CREATE TABLE") == len(METADATA.tables) + 1
        apply(state_url, script)
        with engine.connect() as connection:
            assert differences(connection) == []
            assert stored_version(connection) == HEAD
    migrated = details(state_url)
    with untouched(state_url) as engine, engine.begin() as connection:
        for table in migrated:
            connection.execute(text(f"DROP TABLE {table}"))
    open_engine(state_url).dispose()
    assert details(state_url) == migrated


@pytest.mark.parametrize("version", ["9999", "0009", "", None])
def test_another_schema_is_refused_and_left_alone(state_url: str, version: str | None) -> None:
    open_engine(state_url).dispose()
    with untouched(state_url) as engine, engine.begin() as connection:
        if version:
            connection.execute(text(f"UPDATE alembic_version SET version_num = '{version}'"))
        else:
            connection.execute(text("DROP TABLE alembic_version"))
        if version == "":  # another program's database
            connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
    before = details(state_url)
    refusal = f"has schema {version or 'without a version'}, .*use the release that made it"
    with pytest.raises(ConfigurationError, match=refusal):
        open_engine(state_url)
    with untouched(state_url) as engine, pytest.raises(ConfigurationError, match=refusal):
        pending_sql(engine)
    assert details(state_url) == before


def test_a_creation_that_fails_changes_nothing(state_url: str) -> None:
    with untouched(state_url) as engine, engine.begin() as connection:
        connection.execute(text("CREATE TABLE source_verdicts (not_ours TEXT)"))
    before = details(state_url)
    with pytest.raises(ConfigurationError, match="source_verdicts.*already exists"):
        open_engine(state_url)
    assert details(state_url) == before


def test_many_may_open_a_new_database_at_once(state_url: str, tmp_path: Path) -> None:
    at_once(lambda _: open_engine(state_url, busy_timeout_s=30.0).dispose(), 3)
    with untouched(state_url) as engine:
        assert stored_version(engine.connect()) == HEAD
    # SQLite does not wait for others that switch a new file to write-ahead logging.
    for name in range(25):
        url = f"sqlite:///{tmp_path}/{name}.db"
        at_once(lambda _, url=url: open_engine(url).dispose(), 8)


def test_a_start_at_head_waits_for_no_migration(postgresql_socket: str) -> None:
    url = f"postgresql://postgres@/postgres?host={postgresql_socket}"
    with untouched(url) as engine, engine.begin() as holder:
        lock = radarstream.connectors.state_table.database.migration._CREATION_LOCK
        open_engine(url).dispose()
        holder.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})
        open_engine(url, busy_timeout_s=0.2).dispose()


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
