"""Notices that the database is not the one that a consumer group answered from.

Kafka has the offsets, the database has the memory. If the database is lost or rolled back, steps
and ids of published answers would be used again. So each offset is written to the database before
it is committed to Kafka; a group that has committed more belongs to another database.
"""

from collections.abc import Mapping
from uuid import uuid4

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DBAPIError

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.engine import database_code
from radarstream.connectors.state_table.database.tables import CONSUMER_GROUPS, CONSUMER_OFFSETS
from radarstream.schemas.errors import ConfigurationError

# Codes of a database without the table, or of a damaged file.
LOST = {"SQLSTATE 42P01", "SQLITE_ERROR", "SQLITE_CORRUPT", "SQLITE_NOTADB"}
Offsets = Mapping[tuple[str, int], int]  # the next offset by log epoch and partition
_O = CONSUMER_OFFSETS.c


def enter(engine: Engine, group: str, committed: Offsets, *, start_over: bool, now_ms: int) -> str:
    """Return the mark of a group in this database, which its first start writes.

    Read `committed` from the broker before this call, because another worker may commit more
    meanwhile. Raises ConfigurationError if the database does not have it; `start_over` writes it.
    """
    if start_over:
        note_offsets(engine, group, committed)
    insist_on_offsets(engine, group, committed)
    with engine.begin() as connection:
        entry = {"group_id": group, "mark": uuid4().hex, "since_ms": now_ms}
        db.insert_new(connection, CONSUMER_GROUPS, entry)
        return str(group_mark(connection, group))


def note_offsets(engine: Engine, group: str, offsets: Offsets) -> None:
    """Write offsets before they are committed; stored offsets never decrease, because a worker that
    lost a partition may write after the next owner.
    """
    rows = [
        {"group_id": group, "log_epoch": epoch, "log_partition": number, "next_offset": offset}
        for (epoch, number), offset in sorted(offsets.items())
    ]
    further = _O.next_offset < db.excluded(CONSUMER_OFFSETS).next_offset
    if rows:
        db.put(engine, CONSUMER_OFFSETS, rows, only_if=further)


def insist_on_offsets(engine: Engine, group: str, committed: Offsets) -> None:
    """Raise ConfigurationError if a group has committed more than the database has."""
    with engine.connect() as connection:
        known = known_offsets(connection, group)
    refuse_unknown(engine.url.database, group, committed, known)


def known_offsets(connection: Connection, group: str) -> Offsets:
    """Return the stored offsets of a group."""
    found = select(_O.log_epoch, _O.log_partition, _O.next_offset).where(_O.group_id == group)
    return {(epoch, number): offset for epoch, number, offset in connection.execute(found)}


def refuse_unknown(database: str | None, group: str, committed: Offsets, known: Offsets) -> None:
    """Raise ConfigurationError if a group has committed more than is known."""
    for place, offset in sorted(committed.items()):
        if offset > (knows := known.get(place, 0)):
            what = "is empty or another one" if not known else "is an older copy or lacks its log"
            raise ConfigurationError(
                f"the state database {database} {what}: consumer group {group} has committed offset"
                f" {offset} of partition {place[1]}, the database knows {knows}. Restore the one "
                "that the group answered from or correct `database`; or set the group back to "
                "what the database knows; or go on with what it remembers: --start-over (`submit` "
                "then reads from the first record, the others where the group stopped; answers "
                "repeat ids that are published already)"
            )


def insist_on_mark(engine: Engine, group: str, mark: str) -> None:
    """Raise ConfigurationError if the database is no longer the one that gave this mark.

    Other errors of the database, for example if it does not answer, are raised unchanged.
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


def group_mark(connection: Connection, group: str) -> str | None:
    """Return the mark of a group, None before its first start."""
    statement = select(CONSUMER_GROUPS.c.mark).where(CONSUMER_GROUPS.c.group_id == group)
    return connection.execute(statement).scalar_one_or_none()
