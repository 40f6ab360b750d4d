"""Incoming records (bytes and their origin) and outgoing events."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.section import Section
from radarstream.schemas.snapshot import SearchSnapshot

JSON_CONTENT = "application/json"
ATTEMPTS_HEADER = "radarstream-attempts"  # Kafka header: how often the record was tried


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A record's place in a log.

    `epoch` is the log's id (of a Kafka topic), so that the offsets of a topic that was deleted and
    created again are not taken for the old ones.
    """

    epoch: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class RawRecord:
    """The bytes of a snapshot, identified by `source` and `position`.

    Kafka: `epoch/topic/partition` and offset, and also `log`. Files: path, and line or item from 1.
    Once decoded, the record has its `snapshot`, or the `reason` and `detail` why it cannot be used.
    `attempts` is how often the record was tried: more than once after its dead letter was replayed.
    """

    source: str
    position: int
    payload: bytes
    reason: ReasonClass | None = None
    detail: str = ""
    log: LogPosition | None = None
    attempts: int = 1
    snapshot: SearchSnapshot | None = field(default=None, compare=False, repr=False)


class Limits(Section):
    """Largest sizes of a record; a larger one becomes a dead letter."""

    record_bytes: Annotated[int, Field(ge=1_024)] = 16 * 2**20
    """largest record, in bytes"""
    document_bytes: Annotated[int, Field(ge=256)] = 2**20
    """largest document of a snapshot, in bytes"""
    documents: Annotated[int, Field(ge=1)] = 200
    """most documents in a snapshot"""
    item_characters: Annotated[int, Field(ge=2**10)] = 32 * 2**20
    """largest item of a JSON file (a question with all its years), in characters"""

    def check_count(self, documents: int) -> None:
        """Raise InputError if a snapshot has more documents than the limit."""
        if documents > self.documents:
            detail = f"{documents} documents, the limit is {self.documents} (limits.documents)"
            raise InputError(ReasonClass.TOO_MANY_DOCUMENTS, detail)


UNLIMITED: Final = Limits(  # for records that the project wrote itself
    record_bytes=2**31, document_bytes=2**31, documents=2**31, item_characters=2**31
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """CloudEvents 1.0 context attributes; `time` is event time, never the clock."""

    id: str
    type: str
    source: str
    partitionkey: str
    dataschema: str
    time: datetime | None = None
    datacontenttype: str = JSON_CONTENT


@dataclass(frozen=True, slots=True)
class OutboxRecord:
    """One event to publish. `data` is the encoded payload without its envelope.

    (`topic`, `event_id`) identifies it: an event that is published twice counts once. `lane` is the
    partition of the record that led to it; the reader of that partition publishes the event.
    """

    topic: str
    envelope: Envelope
    data: bytes
    lane: int = 0

    @property
    def key(self) -> str:
        """Partition key: the query id, or the source of a dead letter."""
        return self.envelope.partitionkey

    @property
    def event_id(self) -> str:
        """Deterministic event id, unique within the topic."""
        return self.envelope.id
