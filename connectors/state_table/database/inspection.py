"""Inspects a state database without changing it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from radarstream.connectors.state_table.database.engine import explained, open_engine, parsed_url
from radarstream.connectors.state_table.database.migration import stored_version

PATIENCE_S: Final = 3.0
MAY: Final = text(
    "SELECT has_schema_privilege(current_schema(), 'CREATE') AS make, "
    "to_regclass('memory') IS NULL OR (has_table_privilege('memory', 'INSERT') AND "
    "has_table_privilege('memory', 'UPDATE') AND has_table_privilege('memory', 'DELETE')) AS write"
)


class Inspected(NamedTuple):
    """A database; `version` is None without tables. `may_make` is whether this user may create
    tables, `may_write` whether the user may write rows.
    """

    name: str
    version: str | None
    may_make: bool
    may_write: bool


def absent_file(url: str) -> Path | None:
    """Return the SQLite file of a database if it does not exist yet. Raises ConfigurationError."""
    parsed = parsed_url(url)
    file = Path(parsed.database or "")
    return file if parsed.drivername == "sqlite" and not file.exists() else None


def inspected(url: str) -> Inspected:
    """Inspect an existing database.

    Raises ConfigurationError if it is not a database of this release, DatabaseUnavailableError if
    its server does not answer.
    """
    parsed = parsed_url(url)
    with _reading(parsed) as connection:
        version = stored_version(connection)
        name = parsed.render_as_string(hide_password=True)
        return Inspected(name, version, *_rights(connection, parsed))


@contextmanager
def _reading(url: URL) -> Iterator[Connection]:
    engine = _reader(url)
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        raise explained(url, error, "read") from None
    finally:
        engine.dispose()


def _reader(url: URL) -> Engine:
    if url.drivername != "sqlite":
        address = url.render_as_string(hide_password=False)
        return open_engine(address, busy_timeout_s=PATIENCE_S, migrate=False)
    file = Path(url.database or "").absolute()
    # With these two files, others may be using it; without them, a reader would create them.
    shared = all(file.with_name(file.name + end).exists() for end in ("-wal", "-shm"))
    address = f"file:{quote(str(file))}?mode=ro" + ("" if shared else "&immutable=1")
    return create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(address, uri=True), poolclass=NullPool
    )


def _rights(connection: Connection, parsed: URL) -> tuple[bool, bool]:
    if parsed.drivername == "sqlite":
        file = Path(parsed.database or "")
        free = os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK)
        return free, free
    row = connection.execute(MAY).one()
    return bool(row.make), bool(row.write)
