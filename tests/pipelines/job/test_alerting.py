"""What consumers see of an at-least-once topic; alerts: the right ones, in order, at least once."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import time, timedelta
from functools import partial
from pathlib import Path
from runpy import run_path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from radarstream.connectors.webhook import Attempt
from radarstream.pipelines.job.alerting.alerts import (
    ANSWERS,
    ATTRIBUTIONS,
    MESSAGE_ALERTS,
    MOST_WAITING,
    Alert,
    AlertCounts,
    Alerting,
    Following,
    Selection,
    Timing,
    message,
    payload,
)
from radarstream.pipelines.settings import AlertSettings, load_settings
from radarstream.pipelines.settings.job import QuietHours
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import BrokerError, InputError
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from radarstream.schemas.incidents import TaughtEvent
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import MemoryDecision, MemoryVerdict
from tests.clocks import FakeClock
from tests.markdown import code_block
from tests.wire_samples import ANSWER, REJECTED, TAUGHT

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "consuming.md"
SCHEMA = ROOT / "pipelines" / "job" / "alerting" / "alert.answer.1.json"
ACCEPTED, REFUSED, DOWN = Attempt(204), Attempt(404), Attempt(503)


@dataclass(frozen=True)
class Record:
    partition: int
    offset: int
    value: bytes | None

    def read(self) -> bytes:
        return self.value or b""


class Topic:
    """A log in memory that remembers commits; `outages` polls and commits fail."""

    def __init__(self, *partitions: Sequence[bytes | None]) -> None:
        self.partitions = partitions
        self.committed = dict.fromkeys(range(len(partitions)), 0)
        self.outages = 0

    def reader(self, batch: int) -> "Topic":
        self.places, self.batch = dict(self.committed), batch
        return self

    def poll(self, *, timeout_s: float) -> list[Record]:
        self.fail()
        polled = []
        for partition, values in enumerate(self.partitions):
            start = self.places[partition]
            some = values[start : start + self.batch]
            polled += [Record(partition, start + i, value) for i, value in enumerate(some)]
            self.places[partition] = start + len(some)
        return polled

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        self.fail()
        assert all(offset >= self.committed[p] for p, offset in next_offsets.items())
        self.committed |= next_offsets

    def fail(self) -> None:
        if self.outages:
            self.outages -= 1
            raise BrokerError("away")


class Receiver:
    """Records what it accepts; `outcomes` come first, then it accepts everything."""

    def __init__(self, outcomes: Sequence[Attempt] = ()) -> None:
        self.outcomes, self.received = list(outcomes), []

    def __call__(self, alerts: Sequence[Alert]) -> Attempt:
        outcome = self.outcomes.pop(0) if self.outcomes else ACCEPTED
        if not outcome.temporary:
            self.received.append([alert.id for alert in alerts])
        return outcome

    @property
    def ids(self) -> list[str]:
        return [event_id for ids in self.received for event_id in ids]


def answer(query_id: str, step: int, changed: bool | None = True, **fields) -> AnswerEvent:
    fields |= {"observed_at": ANSWER.observed_at + timedelta(hours=step), "changed": changed}
    return replace(ANSWER, query_id=query_id, step=step, **fields)


def run(
    topic: Topic,
    deliver: Callable[[Sequence[Alert]], Attempt],
    settings: AlertSettings = AlertSettings(),  # noqa: B008 frozen
    timing: Timing = Timing(),  # noqa: B008 frozen
    *,
    batch: int = 3,
    clock: FakeClock | None = None,
    stopping: Callable[[], bool] = lambda: False,
    drained: Callable[[], bool] = lambda: True,
) -> AlertCounts:
    clock, reader = clock or FakeClock(ANSWER.observed_at), topic.reader(batch)
    alerting = Alerting(reader, deliver, settings, timing, stopping=stopping, clock=clock)
    return alerting.run(drained=drained)


def seen(events: Sequence[AnswerEvent | RejectedEvent | TaughtEvent]) -> list:
    following = Following(Selection())
    topics = {AnswerEvent: ANSWERS}
    shown = [following.event(topics.get(type(e), ATTRIBUTIONS), encode(e)) for e in events]
    return [event for event in shown if event is not None]


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10)), max_size=6),
)
def test_repeated_tails_are_dropped(queries: list[str], crashes: list[tuple[int, int]]) -> None:
    """A crash repeats the last events that were published before it, in their order."""
    steps = dict.fromkeys("abc", 0)
    originals = []
    for query_id in queries:
        event = answer(query_id, steps[query_id])
        at = {"query_id": query_id, "step": event.step, "observed_at": event.observed_at}
        originals += [event, *(replace(REJECTED, rank=rank, **at) for rank in (2, 5))]
        steps[query_id] += 1
    log, sent = [], 0
    for at, again in sorted(crashes):
        reached = min(max(at, sent), len(originals))
        log += originals[sent:reached]
        sent = max(0, reached - again)
    log += originals[sent:]
    assert seen(log) == originals


def test_a_query_that_was_forgotten_begins_again() -> None:
    events = [answer("cup", step) for step in range(4)]
    events[2:] = [replace(event, step=event.step - 2) for event in events[2:]]
    assert seen([*events, *events[2:]]) == events


def test_incidents_of_one_answer_are_told_apart_and_come_after_later_rejections() -> None:
    later = replace(REJECTED, step=TAUGHT.step + 1, observed_at=TAUGHT.observed_at + timedelta(1))
    first, second = TAUGHT, replace(TAUGHT, incident="another", revision=0)
    events = [later, first, second, replace(first, revision=first.revision + 1)]
    assert seen([*events, *events[1:]]) == events


def test_what_is_not_selected_counts_as_seen() -> None:
    following = Following(Selection(changed_only=True))
    assert following.event(ANSWERS, encode(answer("cup", 1, changed=False))) is None
    assert following.event(ANSWERS, encode(answer("cup", 0, changed=True))) is None


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_refused_politely(data: bytes) -> None:
    with pytest.raises(InputError):
        Following(Selection()).event(ATTRIBUTIONS, data)


def test_only_what_was_asked_for_is_reported() -> None:
    memory = MemoryVerdict(MemoryDecision.FALSIFIED, previous_answer="Basel")
    falsified = replace(ANSWER.verdict, memory=memory)
    events = [
        answer("a", 0, None, abstention=None),
        answer("a", 1, True, abstention=None, tags=("x",)),
        answer("a", 2, None, abstention=None, verdict=falsified),
        answer("a", 3, None),
        answer("b", 0, True, abstention=None),
    ]
    values = [encode(event) for event in events]
    for settings, expected in [
        (AlertSettings(), ["a/1", "b/0"]),
        (AlertSettings(queries=("b",)), ["b/0"]),
        (AlertSettings(tags=("x", "y")), ["a/1"]),
        (AlertSettings(occasions=("falsified",)), ["a/2"]),
        (AlertSettings(occasions=("abstained", "changed")), ["a/1", "a/3", "b/0"]),
    ]:
        receiver = Receiver()
        counts = run(Topic(values), receiver, settings)
        assert receiver.ids == expected
        assert (counts.delivered, counts.passed_over) == (len(expected), 5 - len(expected))


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(code_block(DOCUMENT, "toml", "[alerts]"))
    alerts = load_settings(file, profile="scripted").alerts
    assert alerts.webhook is not None
    assert alerts.occasions == ("changed", "falsified")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12),
    st.lists(st.sampled_from(["down", "crash", "outage"]), max_size=6),
    st.integers(1, 4),
    st.sampled_from([Timing(), Timing(timedelta(hours=2))]),
)
def test_no_alert_is_lost_and_order_is_kept(answers, faults, batch, timing) -> None:
    """The receiver goes down, the process dies right after a delivery, the broker goes away."""
    steps = dict.fromkeys("abc", 0)
    values: list[list[bytes]] = [[], []]
    wanted: dict[str, list[str]] = {query_id: [] for query_id in "abc"}
    for query_id, changed in answers:
        event = answer(query_id, steps[query_id], changed)
        values["abc".index(query_id) % 2].append(encode(event))
        if changed:
            wanted[query_id].append(f"{query_id}/{event.step}")
        steps[query_id] += 1
    topic, received = Topic(*values), []

    class CrashError(Exception):
        pass

    for fault in faults:
        stopped = []
        if fault == "outage":
            topic.outages = 3

        def deliver(alerts: Sequence[Alert], fault=fault, stopped=stopped) -> Attempt:
            if fault == "down":
                stopped.append("asked to stop while the receiver was down")
                return DOWN
            received.extend(alert.id for alert in alerts)
            if fault == "crash":
                raise CrashError
            return ACCEPTED

        with suppress(CrashError):
            run(topic, deliver, timing=timing, batch=batch, stopping=partial(bool, stopped))
    topic.outages = 0
    last = Receiver()
    run(topic, last, timing=timing, batch=batch)
    received += last.ids
    for query_id, ids in wanted.items():
        assert list(dict.fromkeys(x for x in received if x.startswith(query_id))) == ids
    assert topic.committed == {p: len(v) for p, v in enumerate(values)}


def test_a_digest_holds_what_came_in_its_hours_and_nothing_is_committed_before() -> None:
    """Also in quiet hours, at the end of which everything comes at once."""
    quiet = QuietHours(start=time(11), end=time(14))  # it is noon
    for timing in (Timing(timedelta(hours=2)), Timing(quiet=quiet)):
        topic = Topic([encode(answer("a", 0)), encode(answer("b", 1))])
        receiver, clock = Receiver(), FakeClock(ANSWER.observed_at)
        polls: list[tuple[float, int]] = []

        def poll_later(clock=clock, topic=topic, polls=polls) -> bool:
            polls.append((clock.seconds / 3600, topic.committed[0]))
            clock.seconds += 900
            return len(polls) > 12

        counts = run(topic, receiver, timing=timing, clock=clock, drained=poll_later)
        assert (counts.delivered, receiver.received) == (2, [["a/0", "b/1"]])
        assert all((committed == 2) == (passed >= 2) for passed, committed in polls)


def test_what_waits_is_bounded_and_the_rest_stays_in_the_topic() -> None:
    values = [encode(answer("a", step)) for step in range(MOST_WAITING + 3)]
    receiver = Receiver()
    run(Topic(values), receiver, batch=100, timing=Timing(timedelta(days=999)))
    assert [len(ids) for ids in receiver.received] == [MOST_WAITING, 3]


def test_a_message_names_what_happened_and_words_of_pages_stay_words() -> None:
    hostile = "<!channel> @all [pay](https://evil.example) 3.5\x1b[2J\n# now"
    event = answer("a", 1, True, abstention=None, answer=hostile)
    title, text = message([Alert(event, ("changed", "falsified"))])
    assert title == "Answer changed: Who won the cup?"
    assert "before: Basel" in text
    assert "now: ‹!channel› ＠all ［pay］(https:⁄⁄evil․example) 3.5［2J # now" in text
    many = [Alert(answer("a", step), ("abstained",)) for step in range(MESSAGE_ALERTS + 2)]
    title, text = message(many)
    assert title == f"{MESSAGE_ALERTS + 2} answers to look at"
    assert text.endswith("\n\nand 2 more")
    assert text.count("now: no answer") == MESSAGE_ALERTS


def test_neither_a_refusal_nor_what_cannot_be_read_stops_the_next_alert() -> None:
    topic = Topic([b"{", *[encode(answer("a", step)) for step in range(3)], None, b"\xff"])
    counts = run(topic, Receiver([ACCEPTED, REFUSED]))
    assert (counts.delivered, counts.refused, counts.unreadable) == (2, 1, 2)
    assert topic.committed == {0: 6}


def test_the_payload_is_as_documented() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    changes = {"abstention": None, "answer": "Zürich", "status": AnswerStatus.REMEMBERED}
    retained = replace(ANSWER, provenance=Provenance.LIVE, **changes)
    for event in (ANSWER, retained):
        told = json.loads(payload(Alert(event, ("changed",))))
        validator.validate(told)
        assert set(schema["required"]) == set(schema["properties"]) == set(told)
    assert told == {
        "schema": "alert.answer/1",
        "id": "cup/4",
        "occasions": ["changed"],
        "query_id": "cup",
        "question": "Who won the cup?",
        "tags": ["sport"],
        "step": 4,
        "observed_at": "2025-06-01T12:00:00.250Z",
        "old_answer": "Basel",
        "new_answer": "Zürich",
        "abstention": None,
        "status": "remembered",
        "standing_answer": "Basel",
        "confirmed_at": "2025-05-01T00:00:00.000Z",
        "memory": "retained",
        "kept_sources": [{"title": "Final", "url": "https://example.org/1"}],
        "attributions": 1,
    }
    assert json.loads(payload(Alert(ANSWER, ("abstained",))))["new_answer"] is None


def test_the_documented_check_of_signatures_works() -> None:
    from radarstream.connectors.webhook import signature

    is_authentic = run_path(str(ROOT / "examples" / "alert_receiver.py"))["is_authentic"]
    now, body = 1_750_000_000, '{"answer":"Zürich"}'.encode()
    signed = signature(b"key", now, body)
    given = [b"key", signed, body, now]
    nonsense = ("", "t=", "v1=", "t=x,v1=y", "t=1", signed[:-1], "v1=a,t=1,t=2", "t=1,v1=ü")
    forged = [(1, signed.replace(f"t={now}", f"t={now + 1}")), *((1, text) for text in nonsense)]
    for place, value in [(3, now + 301), (2, body + b" "), (0, b"other"), *forged]:
        key, header, said, at = [*given[:place], value, *given[place + 1 :]]
        assert not is_authentic(key, header, said, now=at)
    for at in (now, now + 299):
        assert is_authentic(b"key", signed, body, now=at)
