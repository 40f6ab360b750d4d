"""Opens the state database: SQLite by default, PostgreSQL by psycopg 3."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from sqlite3 import SQLITE_BUSY
from sqlite3 import Error as SqliteError
from typing import Any, TypeVar

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from radarstream.connectors.state_table.database.migration import bring_to_head
from radarstream.connectors.state_table.database.same_file import insist_on_file
from radarstream.schemas.errors import (
    ConfigurationError,
    DatabaseUnavailableError,
    RadarstreamError,
)
from radarstream.schemas.plugins import lacking

ResultT = TypeVar("ResultT")
CONTENDED_SQLSTATES = {"40001", "40P01", "55P03"}  # serialisation, deadlock, lock not available
MAY_NOT = "42501"  # no privilege
# Shut down, crashed, starting up; too many connections. Class 08 has failures of the connection.
UNREACHABLE_SQLSTATES = {"57P01", "57P02", "57P03", "53300"}
ATTEMPTS = 3
DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}


def open_engine(url: str, *, busy_timeout_s: float = 30.0, migrate: bool = True) -> Engine:
    """Open the database at `url` and create missing tables.

    SQLite runs in WAL mode: commits survive a crash of the process; a power cut may lose the last
    ones. A transaction waits `busy_timeout_s` for another writer's lock. Without `migrate`, nothing
    is read or written yet. Raises ConfigurationError if the URL is invalid, the database is not
    writable or has another schema, DatabaseUnavailableError if its server does not answer; no
    message has a password.
    """
    parsed = parsed_url(url)
    is_sqlite = parsed.drivername == "sqlite"
    try:
        # hide_parameters: a failed statement must not carry answers or pages into a log.
        engine = create_engine(parsed, hide_parameters=True, pool_pre_ping=not is_sqlite)
    except ImportError:
        raise lacking("psycopg") from None
    if is_sqlite:
        file = Path(parsed.database or "")
        if migrate:
            with suppress(OSError):  # SQLite says why
                file.touch(0o600, exist_ok=False)  # SQLite's other files get the same mode
        insist_on_file(engine, file)
    event.listen(engine, "connect", _setup(is_sqlite, int(busy_timeout_s * 1000)))
    if migrate:
        try:
            bring_to_head(engine)
        except (ConfigurationError, DBAPIError) as error:
            engine.dispose()
            if isinstance(error, DBAPIError):
                raise explained(parsed, error, "write") from None
            raise
    return engine


def sqlite_url(file: Path) -> str:
    """Return the URL of a SQLite file, for any characters of its path.

    >>> sqlite_url(Path("what?now/state.sqlite"))
    'sqlite:///what%3Fnow/state.sqlite'
    """
    return URL.create("sqlite", database=str(file)).render_as_string()


def insist_on_database(url: str) -> None:
    """Raise ConfigurationError if `url` is a SQLite file that does not exist."""
    parsed = parsed_url(url)
    if parsed.drivername == "sqlite" and not Path(parsed.database or "").is_file():
        raise ConfigurationError(
            f"there is no state database {parsed.database} (setting `database`) yet: a run makes "
            "it; is this the right directory, and --config the right file?"
        )


def explained(url: URL, error: DBAPIError, deed: str) -> RadarstreamError:
    """Return the error for a failed `deed` ("write" or "read") on a database, without passwords."""
    place = f"the state database {_location(url)}: {_cause(url, error)}"
    if deed == "write" and _sqlstate(error) == MAY_NOT:
        place += " (`radarstream state migrate --sql` prints what an administrator may run)"
    if _out_of_reach(error):
        remedy = "start the server, or correct `database`"
        return DatabaseUnavailableError(f"cannot reach {place}").mended_by(remedy)
    refused = ConfigurationError(f"cannot {deed} {place}")
    if url.drivername == "sqlite":
        refused.mended_by("restore the file from a backup, or delete it to start over")
    elif _sqlstate(error) == MAY_NOT:
        refused.mended_by("let an administrator grant this user the database's tables")
    return refused


def _out_of_reach(error: DBAPIError) -> bool:
    # A refused password has no code either.
    refused = "authentication" in str(error.orig) or "does not exist" in str(error.orig)
    return not isinstance(error.orig, SqliteError) and is_transient(error) and not refused


def retry_contended(work: Callable[[], ResultT]) -> ResultT:
    """Run a transaction, at most three times if it loses against other writers.

    There is no pause, because the database has waited for the lock already.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return work()
        except OperationalError as error:
            if not _contended(error):
                raise
    return work()


def is_transient(error: BaseException) -> bool:
    """Whether a failed transaction may succeed later without a repair.

    True for a server that restarts or does not answer, a broken connection, and a lock of others.
    False for a full disk, a read-only or damaged database, a missing table, and other errors. After
    a connection broke, the transaction may have been committed: read before you write again.
    """
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    if _contended(error):
        return True
    if isinstance(error.orig, SqliteError):
        return False
    state = _sqlstate(error)
    # Failures that the client library notices itself, such as a refused connection, have no code.
    return state is None or state.startswith("08") or state in UNREACHABLE_SQLSTATES


def database_code(error: BaseException) -> str:
    """Return the code of a database error, such as SQLITE_FULL or SQLSTATE 42P01; "" for others.

    Log it instead of the message, which has data.
    """
    if not isinstance(error, DBAPIError):
        return ""
    state = _sqlstate(error)
    return f"SQLSTATE {state}" if state else str(getattr(error.orig, "sqlite_errorname", ""))


def _contended(error: DBAPIError) -> bool:
    busy = error.orig is not None and _is_busy(error.orig)
    return busy or _sqlstate(error) in CONTENDED_SQLSTATES


def _sqlstate(error: DBAPIError) -> str | None:
    state = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else None


def parsed_url(url: str) -> URL:
    """Parse a URL and set the driver. Raises ConfigurationError without the URL, which may have a
    password.
    """
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        raise ConfigurationError(
            "the state database URL cannot be read; "
            "write sqlite:///relative/path.db or postgresql://user@host/database"
        ) from None
    if backend not in DRIVERS:
        raise ConfigurationError(
            f"no state database of kind {backend!r}; use sqlite:/// or postgresql://"
        )
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise ConfigurationError(
            "an in-memory database would forget every answer; give a path: sqlite:///state.db"
        )
    return parsed.set(drivername=DRIVERS[backend])


def _setup(is_sqlite: bool, wait_ms: int) -> Callable[[Any, object], None]:
    def on_sqlite(connection: Any, _record: object) -> None:
        # A damaged text must not fail a query that also reads others.
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
        _into_wal(connection, wait_ms)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")

    def on_postgresql(connection: Any, _record: object) -> None:
        connection.execute(f"SET lock_timeout = {wait_ms}")
        connection.commit()

    return on_sqlite if is_sqlite else on_postgresql


def _into_wal(connection: Any, wait_ms: int) -> None:
    """Switch to write-ahead logging within twice `wait_ms`; here SQLite does not wait itself."""
    for attempt in Retrying(
        retry=retry_if_exception(_is_busy),
        stop=stop_after_delay(wait_ms / 1000),
        wait=wait_random(0.005, 0.05),
        reraise=True,
    ):
        with attempt:
            connection.execute("PRAGMA journal_mode = WAL")


def _is_busy(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", 0)  # absent if Python itself raised the error
    return isinstance(error, SqliteError) and code & 0xFF == SQLITE_BUSY


def _location(url: URL) -> str:
    """Name the database, without user, password and query string."""
    if url.drivername == "sqlite":
        remedy = "its directory must exist and be writable; delete a damaged file to start over"
        return f"{url.database} ({remedy})"
    return f"{url.database} on {url.host or 'the local socket'}"


def _cause(url: URL, error: DBAPIError) -> str:
    """Return the driver's message on one line, with passwords replaced."""
    words = " ".join(str(error.orig).split())
    for secret in (url.password, *(v for name, v in url.query.items() if "password" in name)):
        if isinstance(secret, str) and secret:
            words = words.replace(secret, "***")
    return words
