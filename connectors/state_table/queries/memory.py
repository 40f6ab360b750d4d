"""The memory table: one row per query, with its last snapshot and the defence's state after it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    Connection,
    Engine,
    Integer,
    bindparam,
    cast,
    delete,
    func,
    select,
    update,
)

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    KEPT_ANSWERS,
    KEPT_EVENTS,
    MEMORY,
    OUTBOX,
)
from radarstream.connectors.state_table.queries.outbox import insert_records
from radarstream.schemas.codec import decode_stored, encode_state
from radarstream.schemas.codec.state import State
from radarstream.schemas.errors import InputError, ReasonClass, StateConflictError
from radarstream.schemas.memory import Memory, unless_named, without_answer
from radarstream.schemas.records import OutboxRecord
from radarstream.schemas.times import CALENDAR_MS

Decision = Literal["fold", "replayed", "late"]
MOST_STEPS = 2**53
# The casts are for SQLite, which does not enforce the types of columns.
_ROWS = select(*(cast(c, BigInteger) if isinstance(c.type, Integer) else c for c in MEMORY.columns))
# An UPDATE, not an upsert, so that a row that `clear_run` deleted meanwhile stays deleted.
_REPLACING = (
    update(MEMORY)
    .where(
        MEMORY.c.query_id == bindparam("held_id"),
        cast(MEMORY.c.step, BigInteger) == bindparam("held_step"),  # as it was loaded
        MEMORY.c.state == bindparam("held_state"),  # `unlearn` does not change the step
    )
    .values({column: bindparam(column.key) for column in MEMORY.columns})
)


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A query's row.

    `step` counts folded snapshots. `as_of_ms` and `log_offset` are the event time and the offset of
    the last folded record, `log_epoch` and `log_partition` its log. `log_high_offset` is the
    highest offset folded from that log, at least `log_offset`; see `advance`. `state` is the
    encoded state of the defence.
    """

    query_id: str
    defense: str
    step: int
    as_of_ms: int
    log_epoch: str
    log_partition: int
    log_offset: int
    state: bytes
    log_high_offset: int = -1

    def __post_init__(self) -> None:
        if self.log_high_offset < self.log_offset:
            object.__setattr__(self, "log_high_offset", self.log_offset)

    @property
    def log(self) -> tuple[str, int]:
        """The log: epoch and partition. Only offsets of one log can be compared."""
        return self.log_epoch, self.log_partition


def values_of(row: MemoryRow) -> dict[str, Any]:
    """Return the values of a row by column."""
    return {name: getattr(row, name) for name in MemoryRow.__match_args__}


def advance(previous: MemoryRow | None, new: MemoryRow) -> MemoryRow:
    """Return `new` with the highest offset folded from its log so far.

    Records are folded by event time, so that an earlier fold may have had a higher offset. Without
    it, that record would be late when it is read again. Pass each intermediate row through here if
    you fold several records of a query before a commit.
    """
    if previous is None or previous.log != new.log:
        return new
    return replace(new, log_high_offset=max(previous.log_high_offset, new.log_high_offset))


def load(engine: Engine, query_ids: Sequence[str]) -> dict[str, MemoryRow]:
    """Return the rows of queries, by id."""
    rows: dict[str, MemoryRow] = {}
    for ids in db.chunks(dict.fromkeys(query_ids)):
        found = db.fetch(engine, _ROWS.where(MEMORY.c.query_id.in_(ids)))
        rows.update((row.query_id, MemoryRow(*row)) for row in found)
    return rows


def remembered(row: MemoryRow) -> Memory[State]:
    """Decode the memory in a row. Raises InputError for a damaged one, without its text."""
    if not isinstance(row.state, bytes):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored state is not binary")
    if not 1 <= row.step < MOST_STEPS:
        raise InputError(ReasonClass.OUT_OF_RANGE, f"the stored step is {row.step}")
    if row.as_of_ms not in CALENDAR_MS:
        raise InputError(ReasonClass.OUT_OF_RANGE, f"the stored time is {row.as_of_ms} ms")
    return Memory(row.step, *decode_stored(row.state))


def load_first(engine: Engine, limit: int) -> list[MemoryRow]:
    """Return the first rows by query id."""
    rows = db.fetch(engine, _ROWS.order_by(MEMORY.c.query_id).limit(limit))
    return [MemoryRow(*row) for row in rows]


def count(engine: Engine, defense: str | None = None) -> int:
    """Count the rows, or those that `defense` wrote."""
    statement = select(func.count()).select_from(MEMORY)
    if defense is not None:
        statement = statement.where(MEMORY.c.defense == defense)
    return int(db.fetch_value(engine, statement))


def log_epochs(engine: Engine) -> set[str]:
    """Return the epochs of the logs that the rows were last folded from."""
    return {epoch for (epoch,) in db.fetch(engine, select(MEMORY.c.log_epoch).distinct())}


def order_decision(
    row: MemoryRow | None, as_of_ms: int, log_epoch: str, log_partition: int, log_offset: int
) -> Decision:
    """Decide what to do with a record, given its query's row.

    A query has one snapshot at one event time, however often it is published. Records are folded in
    ascending event time, so that a newer one than the row was not folded yet. For older ones, the
    offset distinguishes a record that is read again from a late one, within one log:

    ==========  ===============================  ===================================
    event time  same log                         another log
    ==========  ===============================  ===================================
    newer       fold                             fold
    equal       replayed                         late: the other log has its answer
    older       replayed up to log_high_offset,  late: it is unknown whether it was
                else late                        folded
    ==========  ===============================  ===================================

    A replayed record is skipped; a late one becomes a dead letter. Append the dead letter before
    the next fold of the log, or pass both to one `commit_fold`: after a crash between the two, the
    late record would count as replayed.
    """
    if row is None or as_of_ms > row.as_of_ms:
        return "fold"
    folded = as_of_ms == row.as_of_ms or log_offset <= row.log_high_offset
    return "replayed" if folded and (log_epoch, log_partition) == row.log else "late"


def commit_fold(
    engine: Engine,
    previous: MemoryRow | None,
    new: MemoryRow,
    outbox: Sequence[OutboxRecord] = (),
    beside: Sequence[Callable[[Connection], object]] = (),
) -> MemoryRow:
    """Replace `previous` by `new` and queue the events, in one transaction; return the stored row.

    The functions `beside` write other rows in the transaction, which runs again if it loses against
    other writers. `new` may be several steps ahead. Raises StateConflictError, with nothing
    written, if the row is no longer `previous`; ValueError if `new` is not ahead of `previous`.
    """
    if previous is not None and (
        new.query_id != previous.query_id
        or new.step <= previous.step
        or new.as_of_ms < previous.as_of_ms
    ):
        raise ValueError(f"row of {new.query_id!r} would move back from step {previous.step}")
    written_row = advance(previous, new)

    def fold(connection: Connection) -> None:
        # The row is first, because its lock gives the query's events ascending numbers.
        if previous is None:
            written = db.insert_new(connection, MEMORY, values_of(written_row))
        else:
            written = _replace(connection, previous, written_row)
        if written != 1:
            raise StateConflictError(f"another writer moved query {new.query_id!r} first")
        insert_records(connection, outbox)
        for write in beside:
            write(connection)

    db.in_transaction(engine, fold)
    return written_row


def unlearn(connection: Connection, query_id: str, wrong: str) -> bool:
    """Remove a wrong answer from a query's memory; False if it is not there.

    A fold that loaded the row before has a conflict, and runs again without the answer.
    """
    held = select(MEMORY.c.state).where(MEMORY.c.query_id == query_id).with_for_update()
    stored = connection.execute(held).scalar_one_or_none()
    if stored is None:
        return False
    try:
        held_before = decode_stored(stored)
    except InputError:  # the next fold reports a damaged row
        return False
    state, standing = held_before
    kept = (without_answer(state, wrong), unless_named(standing, wrong))
    if kept == held_before:
        return False
    connection.execute(
        update(MEMORY).where(MEMORY.c.query_id == query_id).values(state=encode_state(*kept))
    )
    return True


def _replace(connection: Connection, previous: MemoryRow, new: MemoryRow) -> int:
    held = {"held_id": previous.query_id, "held_step": previous.step, "held_state": previous.state}
    return connection.execute(_REPLACING, values_of(new) | held).rowcount


def clear_run(engine: Engine) -> None:
    """Delete the memory and events of all queries, so that a replay starts over.

    The response cache, incidents and quarantine stay.
    """
    with engine.begin() as connection:
        connection.execute(delete(MEMORY))
        connection.execute(delete(KEPT_ANSWERS))
        connection.execute(delete(KEPT_EVENTS))
        connection.execute(delete(OUTBOX))


def row_bytes(row: MemoryRow) -> int:
    """Return the bytes of a row's values: texts in UTF-8, integers with 8 bytes."""
    values = values_of(row).values()
    texts = (value.encode() if isinstance(value, str) else value for value in values)
    return sum(len(value) if isinstance(value, bytes) else 8 for value in texts)
