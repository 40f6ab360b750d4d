"""The wire format: what is written, what is refused and why, and that nothing else escapes."""

import copy
import json
import pickle
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radarstream.schemas.codec import (
    WIRE_SCHEMAS,
    binary_headers,
    dead_letter,
    decode_envelope,
    decode_record,
    decode_snapshot,
    decode_stored,
    decode_taught,
    encode,
    encode_envelope,
    encode_state,
    envelope,
    outbox_record,
    structured,
)
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.memory import Belief, StandingAnswer
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Document, Labels, Retrieval, SearchSnapshot
from tests.builders import tiny_limits
from tests.wire_samples import ANSWER, DEAD_LETTER, DECODERS, REJECTED, SAMPLES, SNAPSHOT, TAUGHT

GOLDEN = Path(__file__).parents[1] / "golden" / "wire"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIMITS = tiny_limits(record_bytes=10_000, document_bytes=100, documents=3)
WIRE = json.loads(encode(SNAPSHOT))


def refusal(data: bytes, now: datetime | None = NOW) -> ReasonClass:
    with pytest.raises(InputError) as caught:
        decode_record(RawRecord("f", 1, data), limits=LIMITS, now=now)
    assert caught.value.detail.isprintable()
    return caught.value.reason


def altered(*path: str | int, to: object = ...) -> bytes:
    """The sample snapshot's wire form with one member set, or removed."""
    payload = copy.deepcopy(WIRE)
    *parents, last = path
    holder = payload
    for step in parents:
        holder = holder[step]
    if to is ...:
        del holder[last]
    else:
        holder[last] = to
    return json.dumps(payload).encode()


def decode_at(time: str) -> SearchSnapshot:
    record = RawRecord("f", 1, altered("observed_at", to=time))
    return decode_record(record, limits=LIMITS, now=NOW)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: WIRE_SCHEMAS[type(sample)].name)
def test_golden_wire_form(sample) -> None:
    """A difference here breaks consumers: it needs a new version, and a golden file beside."""
    schema = WIRE_SCHEMAS[type(sample)]
    golden = (GOLDEN / f"{schema.name}.{schema.version}.json").read_bytes()
    assert encode(sample) + b"\n" == golden
    assert DECODERS[type(sample)](golden) == sample
    assert pickle.loads(pickle.dumps(sample)) == sample
    line = structured(envelope(sample), encode(sample))
    golden = (GOLDEN / f"{schema.name}.{schema.version}.cloudevent.json").read_bytes()
    assert line + b"\n" == golden
    assert DECODERS[type(sample)](line) == sample


def test_a_foreign_version_is_refused_in_the_envelope_and_in_its_data() -> None:
    event = json.loads(structured(envelope(TAUGHT), encode(TAUGHT)))
    for foreign in (
        event | {"dataschema": "urn:radarstream:event.taught:2"},
        event | {"data": event["data"] | {"schema": "event.taught/2"}},
        event["data"] | {"schema": "event.origin/1"},
    ):
        with pytest.raises(InputError) as refused:
            decode_taught(json.dumps(foreign).encode())
        assert refused.value.reason is ReasonClass.UNKNOWN_SCHEMA


def test_optional_members() -> None:
    for value in (SNAPSHOT, SNAPSHOT.labels, SNAPSHOT.retrieval):
        assert all(getattr(value, field.name) for field in fields(value))
    query = json.loads(encode(SNAPSHOT))["query"]
    assert query["withstand"] == SNAPSHOT.query.withstand == 2
    plain = replace(SNAPSHOT, query=replace(SNAPSHOT.query, withstand=None))
    assert json.loads(encode(plain))["query"].keys() == {"id", "text", "tags"}
    payload = {
        "schema": "search.snapshot/1", "query": {"id": "cup", "text": "Who?"},
        "observed_at": "2025-06-01T12:00:00Z", "documents": [{"rank": 1, "text": "Zürich"}],
    }  # fmt: skip
    snapshot = decode_snapshot(json.dumps(payload).encode(), limits=LIMITS)
    assert snapshot.documents == (Document(1, "Zürich"),)
    assert snapshot.labels is None


def test_refuses_bytes() -> None:
    for data, reason in [
        (b"", ReasonClass.MALFORMED_JSON), (b"\xff\xfe", ReasonClass.INVALID_ENCODING),
        (encode(SNAPSHOT)[:-1], ReasonClass.MALFORMED_JSON),
        (encode(SNAPSHOT) + b"}", ReasonClass.MALFORMED_JSON),
        (b"[" * 9_000, ReasonClass.MALFORMED_JSON),
        (b'{"a":' * 40 + b"1" + b"}" * 40, ReasonClass.MALFORMED_JSON),
        (b'{"schema":1,"schema":1}', ReasonClass.MALFORMED_JSON), (b"[]", ReasonClass.WRONG_TYPE),
        (b"null", ReasonClass.WRONG_TYPE), (b'"text"', ReasonClass.WRONG_TYPE),
        (b"{}", ReasonClass.MISSING_FIELD), (b'{"schema":7}', ReasonClass.WRONG_TYPE),
        (b'{"a":NaN}', ReasonClass.NOT_FINITE), (b'{"a":-Infinity}', ReasonClass.NOT_FINITE),
        (b'{"a":1e999}', ReasonClass.NOT_FINITE),
        (b'{"a":9007199254740993}', ReasonClass.OUT_OF_RANGE),
        (b'{"a":' + b"9" * 9_000 + b"}", ReasonClass.OUT_OF_RANGE),
        (b" " * 10_001, ReasonClass.OVERSIZED_RECORD),
        (b'{"specversion":"0.3","data":{}}', ReasonClass.UNKNOWN_SCHEMA),
        (b'{"specversion":"1.0"}', ReasonClass.MISSING_FIELD),
        (b'{"specversion":"1.0","data":"x"}', ReasonClass.WRONG_TYPE),
        (b'{"specversion":"1.0","dataschema":"urn:x","data":{}}', ReasonClass.UNKNOWN_SCHEMA),
        (encode(ANSWER), ReasonClass.UNKNOWN_SCHEMA),
    ]:  # fmt: skip
        assert refusal(data) is reason
    with pytest.raises(InputError) as caught:
        decode_snapshot(b'{"schema": "search', limits=LIMITS)
    assert caught.value.detail == "Unterminated string starting at character 11"
    for text in ("", "{}", '{"specversion":"1.0","id":"x"}', '{"id":"\ud800"}'):
        with pytest.raises(InputError):
            decode_envelope(text)


REFUSED = [
    (altered("schema"), ReasonClass.MISSING_FIELD),
    (altered("schema", to="search.snapshot/2"), ReasonClass.UNKNOWN_SCHEMA),
    (altered("query"), ReasonClass.MISSING_FIELD),
    (altered("query", to=None), ReasonClass.WRONG_TYPE),
    (altered("query", "id", to=""), ReasonClass.OUT_OF_RANGE),
    (altered("query", "id", to="x" * 201), ReasonClass.OUT_OF_RANGE),
    (altered("query", "id", to=5), ReasonClass.WRONG_TYPE),
    (altered("query", "withstand", to=-1), ReasonClass.OUT_OF_RANGE),
    (altered("query", "withstand", to=101), ReasonClass.OUT_OF_RANGE),
    (altered("query", "withstand", to=True), ReasonClass.WRONG_TYPE),
    (altered("query", "extra", to=1), ReasonClass.UNKNOWN_FIELD),
    (altered("extra", to=1), ReasonClass.UNKNOWN_FIELD),
    (altered("x" * 500, to=1), ReasonClass.UNKNOWN_FIELD),
    (altered("provenance", to="rumour"), ReasonClass.OUT_OF_RANGE),
    (altered("documents"), ReasonClass.MISSING_FIELD),
    (altered("documents", to={}), ReasonClass.WRONG_TYPE),
    (altered("documents", to=[1]), ReasonClass.WRONG_TYPE),
    (altered("documents", to=[{"rank": 1, "text": ""}] * 4), ReasonClass.TOO_MANY_DOCUMENTS),
    (altered("documents", 0, "rank", to=3), ReasonClass.DUPLICATE_RANK),
    (altered("documents", 0, "rank", to=0), ReasonClass.OUT_OF_RANGE),
    (altered("documents", 0, "rank", to=1.0), ReasonClass.WRONG_TYPE),
    (altered("documents", 0, "rank", to=True), ReasonClass.WRONG_TYPE),
    (altered("documents", 0, "rank", to="1"), ReasonClass.WRONG_TYPE),
    (altered("documents", 0, "text"), ReasonClass.MISSING_FIELD),
    (altered("documents", 0, "text", to=None), ReasonClass.WRONG_TYPE),
    (altered("documents", 0, "text", to="ü" * 51), ReasonClass.OVERSIZED_DOCUMENT),
    (altered("documents", 0, "url", to="u" * 101), ReasonClass.OVERSIZED_DOCUMENT),
    (altered("documents", 0, "text", to="\x00"), ReasonClass.CONTROL_CHARACTER),
    (altered("documents", 0, "text", to="\x1b[2J"), ReasonClass.CONTROL_CHARACTER),
    (altered("documents", 0, "title", to="\x7f"), ReasonClass.CONTROL_CHARACTER),
    (altered("query", "text", to="\x9b31m"), ReasonClass.CONTROL_CHARACTER),
    (altered("a\x08b", to=1), ReasonClass.CONTROL_CHARACTER),
    (altered("documents", 0, "text", to="\ud83d"), ReasonClass.INVALID_ENCODING),
    (altered("labels", "answers", to="Zürich"), ReasonClass.WRONG_TYPE),
    (altered("labels", "poisoned_ranks", to=[0]), ReasonClass.OUT_OF_RANGE),
    (altered("retrieval", "pages", to=-1), ReasonClass.OUT_OF_RANGE),
    (altered("retrieval", "engine"), ReasonClass.MISSING_FIELD),
    (altered("retrieval", "partial", to=1), ReasonClass.WRONG_TYPE),
    (altered("observed_at"), ReasonClass.MISSING_TIME),
    (altered("observed_at", to=None), ReasonClass.MISSING_TIME),
    (altered("observed_at", to=1748779200), ReasonClass.WRONG_TYPE),
    (altered("observed_at", to="1748779200"), ReasonClass.WRONG_TYPE),
    (altered("observed_at", to="2025-06-01"), ReasonClass.WRONG_TYPE),
    (altered("observed_at", to="2025-06-01T12:00:00"), ReasonClass.WRONG_TYPE),
    (altered("observed_at", to="2025-06-31T12:00:00Z"), ReasonClass.WRONG_TYPE),
    (altered("observed_at", to="1969-12-31T23:59:59.999Z"), ReasonClass.NEGATIVE_TIME),
    (altered("observed_at", to="0001-01-01T00:00:00+14:00"), ReasonClass.NEGATIVE_TIME),
    (altered("observed_at", to="2026-01-01T00:05:00.001Z"), ReasonClass.FUTURE_TIME),
    (altered("documents", 0, "published_at", to="0"), ReasonClass.WRONG_TYPE),
    (
        altered("documents", 0, "published_at", to="9999-12-31T23:00:00-14:00"),
        ReasonClass.OUT_OF_RANGE,
    ),
]


def test_refuses_snapshot() -> None:
    for data, reason in REFUSED:
        assert refusal(data) is reason
    data = altered("observed_at", to="9999-12-31T23:00:00-14:00")
    assert refusal(data, now=None) is ReasonClass.OUT_OF_RANGE


@pytest.mark.parametrize("sample", [ANSWER, REJECTED])
def test_events_keep_the_rules_of_time(sample) -> None:
    payload = json.loads(encode(sample))
    for time, reason in (
        ("9999-12-31T23:59:59-23:59", ReasonClass.OUT_OF_RANGE),
        ("1960-01-01T00:00:00Z", ReasonClass.NEGATIVE_TIME),
        ("1748779200", ReasonClass.WRONG_TYPE),
    ):
        with pytest.raises(InputError) as caught:
            DECODERS[type(sample)](json.dumps({**payload, "observed_at": time}).encode())
        assert caught.value.reason is reason


def test_limits_times_and_ranks() -> None:
    full = [{"rank": rank, "text": "x" * 100} for rank in (1, 2, 3)]
    data = altered("documents", to=full)
    exact = tiny_limits(record_bytes=len(data), document_bytes=100, documents=3)
    assert len(decode_snapshot(data, limits=exact).documents) == 3
    snapshot = decode_at("2025-06-01T14:00:00.1239+02:00")
    assert snapshot.observed_at == datetime(2025, 6, 1, 12, 0, 0, 123_000, tzinfo=UTC)
    assert snapshot.observed_at.tzinfo is UTC
    assert snapshot.observed_at_ms % 1000 == 123
    assert decode_at("2026-01-01T00:05:00Z").observed_at == NOW + timedelta(minutes=5)
    late = altered("observed_at", to="2400-01-01T00:00:00Z")
    assert decode_snapshot(late, limits=LIMITS).observed_at.year == 2400
    data = altered("documents", to=[{"rank": rank, "text": ""} for rank in (9, 2, 5)])
    snapshot = decode_snapshot(data, limits=LIMITS)
    assert [document.rank for document in snapshot.documents] == [2, 5, 9]


def test_what_encoding_cleans() -> None:
    dirty = replace(ANSWER, answer="a\x00b\x1b[2J\x0cc\ud800", generator="\x9b")
    decoded = DECODERS[type(dirty)](encode(dirty))
    assert decoded.answer == "ab[2J\nc\ufffd"
    assert decoded.generator == ""
    support = replace(ANSWER.support, confidence=1e-7) if ANSWER.support else None
    clean, dirty = (replace(ANSWER, answer=text, support=support) for text in ("Rome", "Rome\x7f"))
    assert encode(dirty) == encode(clean)
    letter = replace(DEAD_LETTER, source="data/caf\udce9.jsonl")
    line = structured(envelope(letter), encode(letter))
    assert DECODERS[DeadLetter](line).source == "data/caf\ufffd.jsonl"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_encoding_refuses_nan_wherever_it_is(value: float) -> None:
    verdict = ANSWER.verdict
    first, *others = verdict.documents
    assert ANSWER.support is not None
    for event in (
        replace(REJECTED, margin=value),
        replace(ANSWER, verdict=replace(verdict, edges=((1, 2, value),))),
        replace(
            ANSWER, verdict=replace(verdict, documents=(replace(first, margin=value), *others))
        ),
        replace(ANSWER, support=replace(ANSWER.support, confidence=value)),
    ):
        with pytest.raises(ValueError, match="not JSON compliant"):
            encode(event)


@pytest.mark.parametrize(
    "text",
    ["NaN", "-Infinity,NaN", "\\u0000 \\b \\f", "caf\u00e9\u00a0\t\r\n", '\u2028\U0001f600"'],
)
def test_texts_that_look_like_what_is_refused_stay_as_they_are(text: str) -> None:
    event = replace(ANSWER, answer=text)
    assert DECODERS[type(event)](encode(event)) == event


def test_reader_verdicts_and_dead_letters() -> None:
    record = RawRecord("f", 1, encode(SNAPSHOT), ReasonClass.OVERSIZED_RECORD, "too long")
    with pytest.raises(InputError, match="oversized_record: too long"):
        decode_record(record, limits=LIMITS, now=NOW)
    usable = replace(record, reason=None)
    assert decode_record(usable, limits=LIMITS, now=NOW) == SNAPSHOT
    record = RawRecord("topic/0", 5, b"\xff\x00")
    poison = dead_letter(record, InputError(ReasonClass.INVALID_ENCODING, "bad"))
    again = replace(record, attempts=3)
    outage = dead_letter(again, InputError(ReasonClass.MODEL_UNAVAILABLE, "down"))
    assert (poison.payload_base64, poison.disposition) == ("/wA=", "poison")
    assert (outage.attempts, outage.disposition) == (3, "outage")


def test_ids_and_headers_are_functions_of_the_event() -> None:
    assert envelope(SNAPSHOT).id == "cup@1748779200250"
    assert envelope(ANSWER).id == "cup/4"
    assert envelope(REJECTED).id == "cup/4/3"
    for change in ({"position": 18}, {"detail": "other"}, {"attempts": 9}):
        assert envelope(DEAD_LETTER).id != envelope(replace(DEAD_LETTER, **change)).id
    assert envelope(DEAD_LETTER).time is None
    assert envelope(ANSWER).time == ANSWER.observed_at
    assert dict(binary_headers(envelope(ANSWER))) == {
        "ce_specversion": b"1.0", "ce_id": b"cup/4", "ce_type": b"answer.defended",
        "ce_source": b"urn:radarstream", "ce_partitionkey": b"cup",
        "ce_dataschema": b"urn:radarstream:answer.defended:2",
        "ce_time": b"2025-06-01T12:00:00.250Z", "content-type": b"application/json",
    }  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: WIRE_SCHEMAS[type(sample)].name)
def test_envelope_survives_storage(sample) -> None:
    record = outbox_record(sample, source="urn:test")
    assert decode_envelope(encode_envelope(record.envelope)) == record.envelope
    assert record.topic == WIRE_SCHEMAS[type(sample)].topic
    assert record.key == record.envelope.partitionkey
    assert record.event_id == record.envelope.id


# Machines under load draw slowly; that is no defect of the codec.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
fuzzed = settings(patient, max_examples=200)

# --- properties -------------------------------------------------------------------------------

wire_text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r"), max_size=20
)
milliseconds = st.integers(0, 220_000_000_000_000)  # until the year 8941
times = milliseconds.map(lambda count: EPOCH + timedelta(milliseconds=count))
documents = st.lists(
    st.builds(Document, st.integers(1, 9), wire_text, wire_text, wire_text, st.none() | times),
    max_size=3,
    unique_by=lambda document: document.rank,
).map(tuple)
labels = st.builds(Labels, st.lists(wire_text).map(tuple), st.booleans(), st.none() | wire_text)
retrievals = st.builds(
    Retrieval,
    st.just("google"),
    st.integers(0, 10),
    st.lists(wire_text).map(tuple),
    st.booleans(),
    wire_text,
)
snapshots = st.builds(
    SearchSnapshot,
    st.just(SNAPSHOT.query),
    times,
    documents,
    st.sampled_from(list(type(SNAPSHOT.provenance))),
    st.none() | labels,
    st.none() | retrievals,
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=5)
    | st.sampled_from(["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00Z", "-1-01-01T00:00Z"])
)
values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(wire_text, inner))


@patient
@given(snapshots)
def test_snapshot_round_trip(snapshot: SearchSnapshot) -> None:
    generous = Limits()
    assert decode_snapshot(encode(snapshot), limits=generous) == snapshot
    assert encode(snapshot) == encode(replace(snapshot))
    line = structured(envelope(snapshot), encode(snapshot))
    assert decode_snapshot(line, limits=generous) == snapshot


@patient
@given(milliseconds, st.integers(-23, 23))
def test_event_time_in_milliseconds_is_exact(count: int, hours: int) -> None:
    moment = (EPOCH + timedelta(milliseconds=count)).astimezone(timezone(timedelta(hours=hours)))
    assert replace(SNAPSHOT, observed_at=moment).observed_at_ms == count


def decode_or_refuse(data: bytes) -> None:
    """Anything but a value or an InputError fails the test by escaping."""
    for decode in DECODERS.values():
        try:
            value = decode(data)
        except InputError as error:
            assert isinstance(error.reason, ReasonClass)
            letter = dead_letter(RawRecord("fuzz", 0, data), error)
            assert DECODERS[DeadLetter](encode(letter)).payload_base64 == letter.payload_base64
        else:
            assert decode(encode(value)) == value


@given(st.binary() | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode))
@fuzzed
def test_arbitrary_bytes_raise_nothing_else(data: bytes) -> None:
    decode_or_refuse(data)


@given(st.sampled_from(SAMPLES), st.data())
@fuzzed
def test_damaged_records_raise_nothing_else(sample, data: st.DataObject) -> None:
    raw = bytearray(encode(sample))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
        if not raw:
            break
    decode_or_refuse(bytes(raw))


@given(st.sampled_from(SAMPLES), values, st.data())
@fuzzed
def test_members_of_any_value_raise_nothing_else(sample, value, data: st.DataObject) -> None:
    payload = json.loads(encode(sample))
    holder = payload
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(holder[key], dict | list) or data.draw(st.booleans()):
            holder[key] = value
            break
        holder = holder[key]
    decode_or_refuse(json.dumps(payload).encode())


# --- state ------------------------------------------------------------------------------------

probabilities = st.floats(0.0, 1.0)
beliefs = st.builds(
    Belief, st.text(st.characters(exclude_categories=())), probabilities, probabilities
)


@patient
@given(st.none() | beliefs)
def test_state_round_trip_is_exact(state: Belief | None) -> None:
    assert decode_stored(encode_state(state))[0] == state


def test_state_golden_and_size() -> None:
    assert encode_state(None) == b'{"v":1}'
    state = Belief("Emmanuel Macron", 0.8731234567890123, 0.041234567890123454)
    stored = b'{"v":1,"a":"Emmanuel Macron","s":0.8731234567890123,"f":0.041234567890123454}'
    assert encode_state(state) == stored
    assert decode_stored(stored)[0] == state
    assert len(stored) < 100
    standing = StandingAnswer("Emmanuel Macron", datetime(2025, 6, 1, 12, tzinfo=UTC))
    assert encode_state(None, standing) == b'{"v":1,"t":1748779200000,"w":"Emmanuel Macron"}'
    assert encode_state(state, standing) == stored[:-1] + b',"t":1748779200000}'


def test_damaged_state_is_refused() -> None:
    rows = [b"", b"\xff", b"[1]", b'{"v":2}', b"{}", b'{"v":true}', b'{"v":2,"t":1,"w":"x"}']
    beliefs = ['"a":"x"', '"a":1,"s":0.5,"f":0.5', '"a":"x","s":NaN,"f":0.5']
    beliefs += [f'"a":"x","s":{wrong},"f":0.5' for wrong in ("1.5", '"0.5"', "true")]
    others = ['"p":1', '"p":"x","a":"x"', '"t":1', '"w":"x"', '"t":1,"w":7']
    others += [f'"t":{wrong},"w":"x"' for wrong in ("1.5", "true", "99999999999999999")]
    others += ['"t":1,"a":"x","s":0.5']
    for row in (*rows, *(f'{{"v":1,{members}}}'.encode() for members in (*beliefs, *others))):
        with pytest.raises(InputError):
            decode_stored(row)
