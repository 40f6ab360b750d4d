"""Tells the database that a consumer group answered from, from an empty one in its place.

Offsets are committed to Kafka, memory is here. Where the database is lost and the offsets are not,
an empty one would be taken for a start with nothing to remember: every query would begin again at
step 0, under ids of answers that are published already.
"""

from uuid import uuid4

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from radarstream.connectors.state_table.database.engine import database_code
from radarstream.connectors.state_table.database.statements import insert_new
from radarstream.connectors.state_table.database.tables import CONSUMER_GROUPS, MEMORY
from radarstream.schemas.errors import ConfigurationError

# What a database says that has no such table, or is no database any more.
LOST = {"SQLSTATE 42P01", "SQLITE_ERROR", "SQLITE_CORRUPT", "SQLITE_NOTADB"}


def enter(engine: Engine, group: str, *, has_committed: bool, start_over: bool, now_ms: int) -> str:
    """Return the mark of a group in this database; enter the group at its first start.

    Ask whether the group `has_committed` before this, not after: the first worker is entered
    before it commits, so that a second one that starts meanwhile is not taken for a stranger.
    A database with memory is no fresh one: it is from a release that entered no groups, or was
    imported. Raises ConfigurationError for an empty one under a group that has committed, unless
    told to `start_over`.
    """
    with engine.begin() as connection:
        mark = group_mark(connection, group)
        if mark is not None:
            return mark
        if has_committed and not remembers(connection) and not start_over:
            raise lost_memory(engine.url.database, group)
        entry = {"group_id": group, "mark": uuid4().hex, "since_ms": now_ms}
        insert_new(connection, CONSUMER_GROUPS, entry)
    with engine.connect() as connection:  # another worker may have been first
        return str(group_mark(connection, group))


def lost_memory(database: str | None, group: str) -> ConfigurationError:
    """The error for an empty database under a group that has committed."""
    return ConfigurationError(
        f"the state database {database} is empty, but consumer group {group} has committed offsets:"
        " what it remembered is in another database. Restore that one or correct `database`; or "
        "begin with an empty memory: --start-over (`submit` then reads from the first record, the "
        "others where the group stopped; answers repeat ids that are published already)"
    )


def insist_on_mark(engine: Engine, group: str, mark: str) -> None:
    """Raise ConfigurationError when the database is no longer the one that gave this mark.

    The error of a database that says nothing about that, as it does not answer, is raised as it is.
    """
    try:
        with engine.connect() as connection:
            if group_mark(connection, group) == mark:
                return
        found = "its entry of this consumer group is gone"
    except DBAPIError as error:
        found = database_code(error)
        if found not in LOST:
            raise
    raise ConfigurationError(
        f"the state database {engine.url.database} was emptied, damaged or replaced while it was "
        f"in use ({found}); restore it, then start again"
    )


def remembers(connection: Connection) -> bool:
    """Whether a database holds the memory of any query."""
    return connection.execute(select(MEMORY.c.query_id).limit(1)).first() is not None


def group_mark(connection: Connection, group: str) -> str | None:
    """The mark of a group in a database, None where it never entered."""
    statement = select(CONSUMER_GROUPS.c.mark).where(CONSUMER_GROUPS.c.group_id == group)
    return connection.execute(statement).scalar_one_or_none()
