"""Events that are written with the state, until a sink has published them."""

import logging
import re
from base64 import b64encode
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple, Protocol

from sqlalchemy import Connection, Engine, LargeBinary, Text, cast, delete, func, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import OUTBOX
from radarstream.schemas.codec.cloud_events import decode_envelope, encode_envelope, outbox_record
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.records import OutboxRecord

RECORDS_PER_PUBLISH = 500
TOPIC: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)  # any name; later releases may have others
_C = OUTBOX.c
# The casts are for SQLite, which does not enforce the types of columns.
_ROWS: Final = select(
    _C.seq, cast(_C.topic, Text), cast(_C.envelope, Text), cast(_C.data, LargeBinary), _C.lane
)

log = logging.getLogger(__name__)


class Sink(Protocol):
    """A destination of events."""

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        """Return when every record is durable; raise an error otherwise."""


class PendingRecord(NamedTuple):
    """An unsent event and its place in the queue."""

    seq: int
    record: OutboxRecord


def append(engine: Engine, records: Sequence[OutboxRecord]) -> None:
    """Queue events without a fold, such as dead letters, in one transaction."""
    if records:
        with engine.begin() as connection:
            insert_records(connection, records)


def insert_records(connection: Connection, records: Sequence[OutboxRecord]) -> None:
    """Queue events in the caller's transaction; those with a queued topic and id stay unchanged.

    After a crash, a model may answer differently, but the published event must not change.
    """
    rows = [
        {
            "topic": record.topic,
            "event_id": record.event_id,
            "key": record.key,
            "envelope": encode_envelope(record.envelope),
            "data": record.data,
            "lane": record.lane,
        }
        for record in records
    ]
    if rows:
        db.insert_new(connection, OUTBOX, rows)


def pending(
    engine: Engine, limit: int = RECORDS_PER_PUBLISH, lanes: Collection[int] | None = None
) -> list[PendingRecord]:
    """Return the oldest unsent events of these lanes, or of all, oldest first.

    A dead letter replaces a damaged one, so that it does not delay others.
    """
    statement = _ROWS.order_by(_C.seq).limit(limit)
    if lanes is not None:
        statement = statement.where(_C.lane.in_(lanes))
    return [PendingRecord(row[0], _record(*row)) for row in db.fetch(engine, statement)]


def depth(engine: Engine) -> int:
    """Count the unsent events of all lanes."""
    return int(db.fetch_value(engine, select(func.count()).select_from(OUTBOX)))


def mark_sent(engine: Engine, seqs: Sequence[int]) -> None:
    """Delete events that a sink has published; repeating it is harmless."""
    if seqs:
        with engine.begin() as connection:
            connection.execute(delete(OUTBOX).where(_C.seq.in_(seqs)))


def publish_outbox(
    engine: Engine,
    sink: Sink,
    limit: int = RECORDS_PER_PUBLISH,
    lanes: Collection[int] | None = None,
) -> int:
    """Publish every unsent event of these lanes, or of all, in order; return how many were sent.

    It publishes `limit` at a time, each at least once: after a crash, the next call publishes
    unmarked events again, with the same ids and payloads.
    """
    sent = 0
    while batch := pending(engine, limit, lanes):
        sink.publish([entry.record for entry in batch])
        mark_sent(engine, [entry.seq for entry in batch])
        sent += len(batch)
    return sent


def _record(seq: int, topic: str, envelope: str, data: bytes, lane: int) -> OutboxRecord:
    try:
        event = decode_envelope(envelope)
    except InputError as error:
        damage = error.detail
    else:
        if TOPIC.fullmatch(topic):
            return OutboxRecord(topic, event, data, lane)
        damage = "its topic is invalid"
    log.error("an unsent event is damaged: a dead letter is published in its place")
    letter = DeadLetter(
        reason=ReasonClass.DAMAGED_STATE,
        detail=f"an unsent event is damaged: {damage}",
        disposition="poison",  # the payload is not a snapshot
        source="outbox",
        position=seq,
        attempts=1,
        payload_base64=b64encode(data).decode("ascii"),
    )
    return outbox_record(letter, lane=lane)
