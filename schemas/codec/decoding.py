"""Decodes untrusted bytes to payloads. Every function raises InputError and nothing else."""

import re
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.codec.wire import ADAPTERS, WIRE_SCHEMAS, Payload
from radarstream.schemas.errors import OUTAGES, InputError, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter, RejectedEvent
from radarstream.schemas.incidents import Complaint, TaughtEvent
from radarstream.schemas.names import flaw_of
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.times import EPOCH, whole_milliseconds

CLOCK_SKEW = timedelta(minutes=5)  # clocks of collectors and workers may differ this much
OWN_EVENT_BYTES = 64 * 2**20  # a dead letter carries a whole record, base64 adds a third
COMPLAINT_BYTES = 64 * 2**10
DETAIL_CHARACTERS = 300

EventT = TypeVar("EventT", AnswerEvent, RejectedEvent, TaughtEvent)
PayloadT = TypeVar("PayloadT")
_REASONS = {
    "missing": ReasonClass.MISSING_FIELD,
    "missing_argument": ReasonClass.MISSING_FIELD,
    "unexpected_keyword_argument": ReasonClass.UNKNOWN_FIELD,
    "extra_forbidden": ReasonClass.UNKNOWN_FIELD,
    "finite_number": ReasonClass.NOT_FINITE,
    "greater_than_equal": ReasonClass.OUT_OF_RANGE,
    "less_than_equal": ReasonClass.OUT_OF_RANGE,
    "string_too_short": ReasonClass.OUT_OF_RANGE,
    "string_too_long": ReasonClass.OUT_OF_RANGE,
    "enum": ReasonClass.OUT_OF_RANGE,
}
_TAG_SHAPE = re.compile(r"[a-z]{1,20}\.[a-z]{1,20}/\d{1,4}")  # anything else is not quoted
# Checked first, because the validator would read "1451606399" as seconds since 1970.
_TIME_SHAPE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")


def decode_record(
    record: RawRecord, *, limits: Limits, now: datetime | None, tolerance: timedelta = CLOCK_SKEW
) -> SearchSnapshot:
    """Return the snapshot of a record, decoding it if `decoded` did not do so before.

    With `now` (aware), an event time later than `now + tolerance` is an error; pass None in a
    replay.
    """
    known = decoded(record, limits=limits)
    if known.snapshot is None:
        raise InputError(known.reason or ReasonClass.INTERNAL_ERROR, known.detail)
    _event_time(known.snapshot.observed_at, now, tolerance)
    return known.snapshot


def decoded(record: RawRecord, *, limits: Limits) -> RawRecord:
    """Return the record with its snapshot, or with the reason why it has none."""
    if record.reason is not None or record.snapshot is not None:
        return record
    try:
        snapshot = decode_snapshot(record.payload, limits=limits)
    except InputError as error:
        return replace(record, reason=error.reason, detail=error.detail)
    return replace(record, snapshot=snapshot)


def decode_snapshot(data: bytes, *, limits: Limits) -> SearchSnapshot:
    """Decode and check one snapshot, bare or inside a structured CloudEvent.

    Documents come back in ascending rank, times in UTC, the event time in whole milliseconds.
    """
    payload = _payload(SearchSnapshot, data, limits.record_bytes)
    _check_documents(payload, limits)
    snapshot = _validate(SearchSnapshot, payload)
    documents = snapshot.documents
    for better, worse in zip(documents, documents[1:], strict=False):
        if better.rank == worse.rank:
            raise InputError(ReasonClass.DUPLICATE_RANK, f"two documents have rank {worse.rank}")
    return replace(
        snapshot,
        observed_at=_event_time(snapshot.observed_at),
        documents=tuple(_with_utc(document) for document in documents),
    )


def _event(kind: type[EventT], data: bytes) -> EventT:
    event = _validate(kind, _payload(kind, data, OWN_EVENT_BYTES))
    return replace(event, observed_at=_event_time(event.observed_at))


def decode_answer(data: bytes) -> AnswerEvent:
    """Decode one defended answer, bare or inside a structured CloudEvent."""
    return _event(AnswerEvent, data)


def decode_rejected(data: bytes) -> RejectedEvent:
    """Decode one rejected event, as `decode_answer`."""
    return _event(RejectedEvent, data)


def decode_taught(data: bytes) -> TaughtEvent:
    """Decode one taught event, as `decode_answer`."""
    return _event(TaughtEvent, data)


def decode_complaint(
    data: bytes, *, now: datetime | None, tolerance: timedelta = CLOCK_SKEW
) -> Complaint:
    """Decode one complaint as `decode_answer`; `now` and `tolerance` as in `decode_record`."""
    complaint = _validate(Complaint, _payload(Complaint, data, COMPLAINT_BYTES))
    if complaint.query_id is None and complaint.question is None:
        raise InputError(ReasonClass.MISSING_FIELD, "neither query_id nor question")
    if flaw := flaw_of(complaint.sender):
        raise InputError(ReasonClass.OUT_OF_RANGE, f"sender: {flaw}")
    return replace(complaint, sent_at=_event_time(complaint.sent_at, now, tolerance, "sent_at"))


def decode_dead_letter(data: bytes) -> DeadLetter:
    """Decode one dead letter, as `decode_answer`."""
    return _validate(DeadLetter, _payload(DeadLetter, data, OWN_EVENT_BYTES))


def dead_letter(record: RawRecord, error: InputError) -> DeadLetter:
    """Return the dead letter of a record that cannot be used; it keeps the record's bytes."""
    return DeadLetter(
        reason=error.reason,
        detail=error.detail,
        disposition="outage" if error.reason in OUTAGES else "poison",
        source=record.source,
        position=record.position,
        attempts=record.attempts,
        payload_base64=b64encode(record.payload).decode("ascii"),
    )


def _payload(kind: type[Payload], data: bytes, max_bytes: int) -> JsonObject:
    payload = parse_object(data, max_bytes=max_bytes)
    schema = WIRE_SCHEMAS[kind]
    if "specversion" in payload:
        payload = _cloud_event_data(payload, schema.uri)
    tag = payload.pop("schema", None)
    if tag is None:
        raise InputError(ReasonClass.MISSING_FIELD, f"no schema; expected {schema.tag}")
    if not isinstance(tag, str):
        raise InputError(ReasonClass.WRONG_TYPE, "schema is not a string")
    if tag != schema.tag:
        found = repr(tag) if _TAG_SHAPE.fullmatch(tag) else "something else"
        raise InputError(ReasonClass.UNKNOWN_SCHEMA, f"{found} where {schema.tag!r} is read")
    for name in ("observed_at", "sent_at"):
        _check_time(name, payload)
    return payload


def _cloud_event_data(event: JsonObject, uri: str) -> JsonObject:
    if event["specversion"] != "1.0":
        raise InputError(ReasonClass.UNKNOWN_SCHEMA, "CloudEvents specversion is not 1.0")
    if event.get("dataschema", uri) != uri:
        raise InputError(ReasonClass.UNKNOWN_SCHEMA, f"dataschema is not {uri}")
    if "data" not in event:
        raise InputError(ReasonClass.MISSING_FIELD, "the CloudEvent has no JSON data")
    data = event["data"]
    if not isinstance(data, dict):
        raise InputError(ReasonClass.WRONG_TYPE, "the CloudEvent's data is not an object")
    return data


def _check_time(name: str, holder: JsonObject) -> None:
    time = holder.get(name)
    if isinstance(time, str) and not _TIME_SHAPE.match(time):
        raise InputError(ReasonClass.WRONG_TYPE, f"{name} is not an RFC 3339 time")
    if time is None and name == "observed_at" and name in holder:
        raise InputError(ReasonClass.MISSING_TIME, "observed_at is null")


def _check_documents(payload: JsonObject, limits: Limits) -> None:
    documents = payload.get("documents")
    if not isinstance(documents, list):
        return
    limits.check_count(len(documents))
    for index, document in enumerate(documents):
        if not isinstance(document, dict):
            continue
        _check_time("published_at", document)
        for name in ("text", "title", "url"):
            text = document.get(name)
            if isinstance(text, str) and len(text.encode()) > limits.document_bytes:
                raise InputError(
                    ReasonClass.OVERSIZED_DOCUMENT,
                    f"documents.{index}.{name} is over {limits.document_bytes} bytes",
                )


def _validate(kind: type[PayloadT], payload: JsonObject) -> PayloadT:
    # Strict validation from JSON accepts arrays as tuples and RFC 3339 strings as times, which
    # strict validation of Python values does not.
    adapter: TypeAdapter[PayloadT] = ADAPTERS[kind]
    try:
        return adapter.validate_json(to_json(payload), strict=True)
    except ValidationError as error:
        raise input_error(error) from None


def input_error(error: ValidationError) -> InputError:
    """Return the first problem of a failed validation, without quoting the input."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    reason = _REASONS.get(first["type"], ReasonClass.WRONG_TYPE)
    # The name of an unknown field is untrusted: say only where it is.
    named = first["loc"][:-1] if reason is ReasonClass.UNKNOWN_FIELD else first["loc"]
    place = ".".join(str(part) for part in named) or "the object"
    if place in ("observed_at", "sent_at") and reason is ReasonClass.MISSING_FIELD:
        reason = ReasonClass.MISSING_TIME
    detail = f"{place}: {first['msg']}"
    brief = detail if len(detail) <= DETAIL_CHARACTERS else f"{detail[: DETAIL_CHARACTERS - 1]}…"
    return InputError(reason, brief)


def _event_time(
    time: datetime,
    now: datetime | None = None,
    tolerance: timedelta = CLOCK_SKEW,
    name: str = "observed_at",
) -> datetime:
    if time < EPOCH:
        raise InputError(ReasonClass.NEGATIVE_TIME, f"{name} lies before 1970")
    if now is not None and time > now + tolerance:
        raise InputError(ReasonClass.FUTURE_TIME, f"{name} lies in the future")
    return whole_milliseconds(_utc(time))


def _with_utc(document: Document) -> Document:
    published = document.published_at
    return replace(document, published_at=_utc(published)) if published else document


def _utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise InputError(ReasonClass.OUT_OF_RANGE, "a time lies outside the calendar") from None
