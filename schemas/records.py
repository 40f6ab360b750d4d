"""Records on their way in (bytes and where they came from) and on their way out (events)."""

from dataclasses import dataclass
from datetime import datetime

from schemas.errors import ReasonClass

JSON_CONTENT = "application/json"


@dataclass(frozen=True, slots=True)
class RawRecord:
    """Undecoded bytes with their place: `source` and `position` name them for ever.

    Kafka: `topic/partition` and offset. Files: path and 1-based line or item. A reader that
    already knows that the bytes are unusable says why in `reason` and `detail`.
    """

    source: str
    position: int
    payload: bytes
    reason: ReasonClass | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest input that is decoded; anything above becomes a dead letter. Sizes in bytes."""

    record_bytes: int = 16 * 2**20
    document_bytes: int = 2**20
    documents: int = 200


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

    (`topic`, `event_id`) identifies it: publishing it twice must leave one event.
    """

    topic: str
    envelope: Envelope
    data: bytes

    @property
    def key(self) -> str:
        """Partition key: the query id, or the source of a dead letter."""
        return self.envelope.partitionkey

    @property
    def event_id(self) -> str:
        """Deterministic event id, unique within the topic."""
        return self.envelope.id
