"""CloudEvents 1.0 around payloads: ids, structured lines, binary headers.

Ids depend on the payload only. An event that is published again after a crash has the same id, so
consumers can drop the copy.
"""

from datetime import datetime
from hashlib import sha256

from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.codec.text import clean
from radarstream.schemas.codec.wire import WIRE_SCHEMAS, Payload, compact_json, encode
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from radarstream.schemas.incidents import Complaint, TaughtEvent
from radarstream.schemas.records import Envelope, OutboxRecord
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import wire_time

SPEC_VERSION = "1.0"
EVENT_SOURCE = "urn:radarstream"


def envelope(value: Payload, *, source: str = EVENT_SOURCE) -> Envelope:
    """Return the context attributes of a payload; a dead letter has no event time.

    Ids: snapshot `query_id@milliseconds`, answer `query_id/step`, rejected document
    `query_id/step/rank`, taught answer `query_id/step/taught/incident/revision`, complaint its own,
    dead letter 32 hexadecimal digits of a hash over all fields but the payload: a record that fails
    in two ways, before and after a crash, makes two letters.
    """
    schema = WIRE_SCHEMAS[type(value)]
    identity, key, time = _identity(value)
    return Envelope(
        id=identity,
        type=schema.name,
        source=source,
        partitionkey=key,
        dataschema=schema.uri,
        time=time,
    )


def outbox_record(value: Payload, *, source: str = EVENT_SOURCE, lane: int = 0) -> OutboxRecord:
    """Return the event that publishes a payload on its topic; `lane` as in `OutboxRecord`."""
    return OutboxRecord(
        topic=WIRE_SCHEMAS[type(value)].topic,
        envelope=envelope(value, source=source),
        data=encode(value),
        lane=lane,
    )


def structured(event: Envelope, data: bytes) -> bytes:
    """Return one line of JSON, without newline: context attributes and the payload as `data`."""
    head = compact_json(attributes(event)).encode()
    return head[:-1] + b',"data":' + data + b"}"


def binary_headers(event: Envelope) -> list[tuple[str, bytes]]:
    """Return Kafka headers of the binary content mode; the payload is the record's value."""
    named = attributes(event)
    content_type = named.pop("datacontenttype")
    headers = [(f"ce_{name}", text.encode()) for name, text in named.items()]
    return [*headers, ("content-type", content_type.encode())]


def attributes(event: Envelope) -> dict[str, str]:
    """Return the attributes by wire name, in a fixed order, without empty ones."""
    named = {
        "specversion": SPEC_VERSION,
        "id": event.id,
        "type": event.type,
        "source": event.source,
        "partitionkey": event.partitionkey,
        "dataschema": event.dataschema,
        "time": wire_time(event.time) if event.time else "",
        "datacontenttype": event.datacontenttype,
    }
    return {name: clean(text) for name, text in named.items() if text}


def encode_envelope(event: Envelope) -> str:
    """Return the attributes as a JSON object, to store beside the payload."""
    return compact_json(attributes(event))


def decode_envelope(text: str) -> Envelope:
    """Invert `encode_envelope`. Raises InputError."""
    named: JsonObject = parse_object(text.encode("utf-8", "surrogatepass"), max_bytes=2**20)
    try:
        named.pop("specversion")
        time = named.pop("time", None)
        texts = {name: _text(value) for name, value in named.items()}
        return Envelope(**texts, time=datetime.fromisoformat(time) if time else None)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(ReasonClass.WRONG_TYPE, f"not an event envelope: {error}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("an attribute is not text")
    return value


def _identity(value: Payload) -> tuple[str, str, datetime | None]:
    if isinstance(value, SearchSnapshot):
        return value.id, value.query.id, value.observed_at
    if isinstance(value, AnswerEvent):
        return f"{value.query_id}/{value.step}", value.query_id, value.observed_at
    if isinstance(value, RejectedEvent):
        identity = f"{value.query_id}/{value.step}/{value.rank}"
        return identity, value.query_id, value.observed_at
    if isinstance(value, Complaint):
        return value.id, value.query, value.sent_at
    if isinstance(value, TaughtEvent):
        identity = f"{value.query_id}/{value.step}/taught/{value.incident}/{value.revision}"
        return identity, value.query_id, value.observed_at
    fields = (value.source, value.position, value.reason.value, value.detail, value.attempts)
    digest = sha256(repr(fields).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32], value.source, None
