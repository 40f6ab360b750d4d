"""Rewrite a SQLite database so that its files hold no bytes of deleted rows.

A deleted row stays in its page, and in pages of indexes, until the space is used again; what a row
was before an update does, too. Only a rewrite removes them;
on a server that is for its administrator to do.
"""

from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from radarstream.connectors.state_table.database.engine import database_code

ON_SERVER: Final = (
    "the bytes of deleted rows in the files of the PostgreSQL server, until its administrator runs "
    "VACUUM (FULL, ANALYZE), VACUUM FULL pg_statistic and CHECKPOINT while no older transaction is "
    "open; its samples of a table that has become empty; its write-ahead log until the segments "
    "are used again, its archive, replicas and logs"
)
IN_FILE: Final = "the bytes of deleted rows in the database's files: {}; run it again"


def compact(engine: Engine) -> str:
    """Return in a sentence where bytes of deleted rows still are after a rewrite; "" for nowhere.

    Needs as much free space as the database; nobody else writes meanwhile.
    """
    if engine.dialect.name != "sqlite":
        return ON_SERVER
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            connection.exec_driver_sql("VACUUM")
            # The log of changes still has the old pages.
            busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        except OperationalError as error:
            why = f"another process was writing or space was short ({database_code(error)})"
            return IN_FILE.format(why)
    return IN_FILE.format("another process was reading") if busy else ""
