"""Records on their way in (bytes and where they came from) and on their way out (events)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.section import Section
from radarstream.schemas.snapshot import SearchSnapshot

JSON_CONTENT = "application/json"
ATTEMPTS_HEADER = "radarstream-attempts"  # of a record in Kafka: how often it was tried


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A record's place in a log that can be read again.

    `epoch` names the log itself and changes when it is created anew (a Kafka topic's id), so that
    offsets which restarted are not mistaken for records read before.
    """

    epoch: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class RawRecord:
    """The bytes of a snapshot with their place: `source` and `position` name them for ever.

    Kafka: `epoch/topic/partition` and offset, the same in `log`. Files: path and 1-based line or
    item. Whoever decodes the bytes first keeps what came of it, and nobody decodes them again:
    `snapshot`, or `reason` and `detail` where they cannot be used. `attempts` counts how often
    the record was tried, more than once only when a dead letter was replayed.
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
    """What a record may weigh; more is a dead letter."""

    record_bytes: Annotated[int, Field(ge=1_024)] = 16 * 2**20
    """largest record, in bytes"""
    document_bytes: Annotated[int, Field(ge=256)] = 2**20
    """largest document of a snapshot, in bytes"""
    documents: Annotated[int, Field(ge=1)] = 200
    """most documents in a snapshot"""
    item_characters: Annotated[int, Field(ge=2**10)] = 32 * 2**20
    """largest item of a JSON file (a question with all its years), in characters"""

    def check_count(self, documents: int) -> None:
        """Raise InputError for more documents of a snapshot than the limit."""
        if documents > self.documents:
            detail = f"{documents} documents, the limit is {self.documents} (limits.documents)"
            raise InputError(ReasonClass.TOO_MANY_DOCUMENTS, detail)


UNLIMITED: Final = Limits(  # for what the project wrote itself
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

    (`topic`, `event_id`) identifies it: publishing it twice must leave one event. `lane` is the
    partition of the log that led to it: whoever reads that partition publishes the event.
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
