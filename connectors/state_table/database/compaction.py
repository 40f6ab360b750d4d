"""Rewrite the database so that its files hold no bytes of deleted rows.

A deleted row stays in its page, and in pages of indexes, until the space is used again; what a row
was before an update does, too. Only a rewrite removes them.
"""

from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from radarstream.connectors.state_table.database.engine import MAY_NOT, database_code
from radarstream.connectors.state_table.database.tables import METADATA

LOOKS: Final = 50  # for transactions that began before, a tenth of a second apart
# The planner's statistics hold values of rows.
CATALOG: Final = "pg_catalog.pg_statistic"
# Transactions of anybody else, prepared ones and replicas that may still read what was deleted.
OLDER: Final = text("""
SELECT count(*) FROM (
    SELECT greatest(age(backend_xid), age(backend_xmin)) AS age FROM pg_stat_activity
    WHERE pid <> pg_backend_pid()
    AND (datname = current_database() OR backend_type = 'walsender')
    UNION ALL SELECT age(xmin) FROM pg_replication_slots
    UNION ALL SELECT age(transaction) FROM pg_prepared_xacts WHERE database = current_database()
) AS others WHERE age >= age(CAST(:now AS xid))
""")
# Whose transactions this user may not see.
HIDDEN: Final = text("""
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND query = '<insufficient privilege>'
""")
NOW: Final = text("SELECT CAST(txid_current() % 4294967296 AS text)")
AGAIN: Final = "run the command again with --if-exists"
SERVER_LOG: Final = (
    "the write-ahead log of the PostgreSQL server until its segments are used again, its archive, "
    "replicas, and what the server logs"
)
DELETED: Final = "the bytes of deleted rows in the database's files"


class Compacted(NamedTuple):
    """What a rewrite reached. `left` says in a sentence each where deleted bytes still are."""

    done: bool
    left: tuple[str, ...] = ()


class NotRewrittenError(Exception):
    """The reason why bytes of deleted rows are left."""


def compact(engine: Engine) -> Compacted:
    """Rewrite all tables and their indexes; never raises for what the database refuses.

    Needs as much free space again as the largest table takes; SQLite: as the database. SQLite lets
    nobody else write meanwhile. PostgreSQL locks one table after another for as long as it is
    copied: workers wait. Either waits for others at most as long as `open_engine` was told to.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # No rewrite reaches the server's log; SQLite's log goes with the rewrite.
        on_sqlite = connection.dialect.name == "sqlite"
        log = () if on_sqlite else (SERVER_LOG,)
        try:
            left = _compact_sqlite(connection) if on_sqlite else _compact_postgresql(connection)
        except NotRewrittenError as error:
            return Compacted(done=False, left=(*log, f"{DELETED}: {error}"))
        except OperationalError as error:
            why = f"another process was writing or space was short ({database_code(error)})"
            return Compacted(done=False, left=(*log, f"{DELETED}: {why}; {AGAIN}"))
        return Compacted(done=True, left=(*log, *left))


def _compact_sqlite(connection: Connection) -> list[str]:
    connection.exec_driver_sql("VACUUM")
    # The log of changes still has the old pages.
    busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
    if busy:
        raise NotRewrittenError(f"another process was reading; {AGAIN}")
    return []


def _compact_postgresql(connection: Connection) -> list[str]:
    left = []
    if not _nobody_older(connection):
        raise NotRewrittenError(
            f"a transaction from before is still open, or a replica holds rows back; {AGAIN}"
        )
    if connection.execute(HIDDEN).scalar_one():
        left.append("rows that sessions of other database users may still read, if any is older")
    for table in METADATA.sorted_tables:
        if not _rewritten(connection, table.name, "FULL, ANALYZE"):
            raise NotRewrittenError(
                f"the database's user may not rewrite table {table.name}, its owner may"
            )
    if not _rewritten(connection, CATALOG, "FULL"):
        left.append(
            f"samples of values in the server's statistics: the owner of the database may run "
            f"VACUUM FULL {CATALOG}"
        )
    if not _allowed(connection, "CHECKPOINT"):
        left.append(
            "the server's data files until its next checkpoint, which the database's user may not "
            "ask for"
        )
    return left


def _nobody_older(connection: Connection) -> bool:
    """Wait until nobody can read what was deleted: a rewrite copies what somebody may read."""
    now = connection.execute(NOW).scalar_one()
    for _ in range(LOOKS):
        if not connection.execute(OLDER, {"now": now}).scalar_one():
            return True
        connection.exec_driver_sql("SELECT pg_sleep(0.1)")
    return False


def _rewritten(connection: Connection, table: str, options: str) -> bool:
    """Rewrite one table; False where the user may not, which the server passes over in silence."""
    where = f"SELECT pg_relation_filenode('{table}'::regclass)"
    before = connection.exec_driver_sql(where).scalar_one()
    allowed = _allowed(connection, f"VACUUM ({options}) {table}")
    return allowed and bool(connection.exec_driver_sql(where).scalar_one() != before)


def _allowed(connection: Connection, statement: str) -> bool:
    try:
        connection.exec_driver_sql(statement)
    except ProgrammingError as error:
        if MAY_NOT in database_code(error):
            return False
        raise
    return True
