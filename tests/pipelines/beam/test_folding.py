"""The ordered step per query: order, resumption, late and repeated snapshots, damage, failures."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import MemoryRow, load
from radarstream.connectors.state_table.queries.outbox import mark_sent, pending, publish_outbox
from radarstream.defenses.radar import Radar
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.beam import folding, graph
from radarstream.pipelines.beam.folding import Item, Recorded, fold_queries
from radarstream.pipelines.beam.graph import MicroBatch, run_replay
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.failures import kind_of
from radarstream.pipelines.job.telemetry import logs
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import decode_dead_letter, encode
from radarstream.schemas.errors import (
    ConfigurationError,
    InputError,
    ReasonClass,
    StateConflictError,
)
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import OutboxRecord, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import wire_time
from tests.builders import GIVE_ALL, OBSERVED_AT, logged, make_snapshot, scripted_settings
from tests.scripted_models import scripted_models

EPOCH = "digest-of-the-input"
WINNERS = ["Rome", "Rome", "Oslo", "Bern", "Bern"]
Queries = dict[str, list[Item]]


@pytest.fixture
def other_engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(f"sqlite:///{tmp_path / 'other.db'}")
    yield opened
    opened.dispose()


def guard_with(name: str = "radar", **generator: Any) -> DefensePipeline[Any]:
    defense = Radar() if name == "radar" else build_defense(name)
    return DefensePipeline(name, defense, scripted_models(**generator))


def snapshot_at(step: int, winner: str, query_id: str = "cup") -> SearchSnapshot:
    texts = [f"The winner: {winner}."] * 3 + ["The winner: Nobody."]
    time = OBSERVED_AT + timedelta(days=step)
    return make_snapshot(texts, query_id=query_id, observed_at=time)


def ready(snapshot: SearchSnapshot, position: int = 1) -> Item:
    (found,) = guard_with().gather([snapshot])
    return Recorded(RawRecord("history.jsonl", position, encode(snapshot)), found)


def story(query_id: str = "cup", winners: Sequence[str] = WINNERS) -> list[Item]:
    return [
        ready(snapshot_at(step, winner, query_id), step + 1) for step, winner in enumerate(winners)
    ]


def fold(
    engine: Engine, queries: Queries, guard: DefensePipeline[Any] | None = None, epoch: str = EPOCH
) -> list[AnswerEvent]:
    outcomes = fold_queries(guard or guard_with(), engine, queries, epoch)
    return [outcome for outcome in outcomes if isinstance(outcome, AnswerEvent)]


def outbox(engine: Engine) -> list[OutboxRecord]:
    return [entry.record for entry in pending(engine, 10_000)]


def by_query(engine: Engine) -> dict[str, list[tuple[str, bytes]]]:
    """Every query's events in order; queries share one outbox, in any order."""
    events: dict[str, list[tuple[str, bytes]]] = {}
    for record in outbox(engine):
        events.setdefault(record.key, []).append((record.event_id, record.data))
    return events


def letters(engine: Engine) -> list[tuple[ReasonClass, str, int]]:
    dead = [r for r in outbox(engine) if r.topic == "snapshots.deadletter"]
    return [
        (x.reason, x.disposition, x.position) for x in (decode_dead_letter(r.data) for r in dead)
    ]


def row(engine: Engine, query_id: str = "cup") -> MemoryRow:
    return load(engine, [query_id])[query_id]


@pytest.mark.parametrize("done", range(6))
def test_resuming_equals_an_uninterrupted_run(engine, other_engine, done) -> None:
    queries = {"cup": story(), "tea": story("tea", WINNERS[::-1])}
    fold(other_engine, queries)
    fold(engine, {q: readies[:done] for q, readies in queries.items()})
    resumed = fold(engine, queries)
    assert [event.step for event in resumed] == [s for s in range(done, 5) for _ in queries]
    for query_id in queries:
        assert row(engine, query_id) == row(other_engine, query_id)
    assert by_query(engine) == by_query(other_engine)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_snapshot_of_the_same_moment_is_folded_once(engine: Engine, at_once: bool) -> None:
    first, second, third = story()[:3]
    copy = ready(snapshot_at(1, "Oslo"), position=9)
    if at_once:
        events = fold(engine, {"cup": [copy, third, first, second]})
    else:
        events = fold(engine, {"cup": [first, second]})
        events += fold(engine, {"cup": [first, second, copy, third]})
    given = [r.value.chosen.snapshot.id for r in (first, second, third)]
    assert [event.snapshot_id for event in events] == given
    assert events[1].answer == "Rome"  # the one that comes first in the source
    assert letters(engine) == []


def test_in_another_log_each_of_the_same_snapshots_is_late(engine: Engine) -> None:
    """Their answers went to topics of the first one: nothing else would tell where they are."""
    fold(engine, {"cup": story()})
    assert fold(engine, {"cup": story()}, epoch="another cluster") == []
    assert letters(engine) == [(ReasonClass.LATE, "poison", n + 1) for n in range(len(WINNERS))]


def test_a_late_letter_tells_how_late_and_is_the_same_when_folded_again(engine: Engine) -> None:
    query = "a\u202e\n" + "x" * 100
    early, *rest = story(query)
    fold(engine, {query: rest})
    for _ in range(2):
        fold(engine, {query: [early]}, epoch="another input")
    dead = [r for r in outbox(engine) if r.topic == "snapshots.deadletter"]
    assert len({record.event_id for record in dead}) == 1
    detail = decode_dead_letter(dead[0].data).detail
    times = [wire_time(r.value.chosen.snapshot.observed_at) for r in (early, rest[-1])]
    assert detail == (f"observed {times[0]}, but query a {'x' * 61}… has answered up to {times[1]}")


def test_an_outage_for_one_query_parks_only_that(engine: Engine, other_engine: Engine) -> None:
    bad = story("bad", ["Rome", "Broken", "Bern"])
    events = fold(engine, {"cup": story(), "bad": bad}, guard_with(fail_on_text="Broken"))
    assert [e.answer for e in events if e.query_id == "cup"] == WINNERS
    assert [e.answer for e in events if e.query_id == "bad"] == ["Rome", "Bern"]
    assert letters(engine) == [(ReasonClass.MODEL_UNAVAILABLE, "outage", 2)]
    fold(other_engine, {"cup": story()})
    assert (row(engine), row(engine, "bad").step) == (row(other_engine), 2)


def test_the_memory_of_another_defence_is_refused(engine: Engine) -> None:
    fold(engine, {"cup": story()[:1]}, guard_with("vanilla"))
    before = row(engine)
    with pytest.raises(ConfigurationError, match=r"cup.*vanilla.*radar"):
        fold(engine, {"cup": story()})
    assert row(engine) == before


def test_a_row_that_moved_meanwhile_is_a_conflict(engine: Engine) -> None:
    readies = story()
    slow = fold_queries(guard_with(), engine, {"cup": readies}, EPOCH)
    next(slow)
    fold(engine, {"cup": readies[:2]})
    winner = (row(engine), outbox(engine))
    with pytest.raises(StateConflictError):
        list(slow)
    assert (row(engine), outbox(engine)) == winner


# --- micro-batches over damaged rows and failing steps: a damaged query waits, the others go on


SOUND = """'{"v":1,"a":"Rome","s":0.9,"f":0.1}'"""
DAMAGES = {
    "state = CAST(X'FF00' AS BLOB)": "not JSON",
    """state = CAST('{"v":1,"a":"Ro' AS BLOB)""": "not JSON",
    """state = CAST('{"v":7}' AS BLOB)""": "version 1",
    """state = CAST('{"v":1,"a":"Rome","s":NaN,"f":0.1}' AS BLOB)""": "[0, 1]",
    """state = CAST('{"v":1,"a":"Rome","s":-0.5,"f":0.1}' AS BLOB)""": "[0, 1]",
    f"state = {SOUND}": "not binary",
    "step = -1": "step is -1",
    "step = 'x'": "step is 0",
    "as_of_ms = 4611686018427387904": "time is 4611686018427387904 ms",
    "log_high_offset = 'x', log_offset = X'00', state = X''": "not JSON",
    "defense = 'no such'": "not of defence 'voices'",
    "defense = 'vanilla'": "not of defence 'voices'",
    "defense = CAST(X'FF' AS TEXT)": "not of defence 'voices'",
}
QUERIES = ("cup", "tea", "pie")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return scripted_settings(tmp_path, defense=GIVE_ALL)


def snapshots(*steps: int, queries: Iterable[str] = QUERIES) -> list[SearchSnapshot]:
    return [snapshot_at(step, "Rome", query) for step in steps for query in queries]


def records(given: list[SearchSnapshot], first: int = 0) -> list[RawRecord]:
    return [logged(snapshot, offset) for offset, snapshot in enumerate(given, first)]


def damage(engine: Engine, setting: str, query: str = "tea") -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE memory SET {setting} WHERE query_id = '{query}'")


def test_queries_of_damaged_rows_are_parked_and_the_others_go_on(settings: Settings) -> None:
    batch, engine = MicroBatch(settings), shared_engine(settings)
    told = {f"bad-{n}": why for n, why in enumerate(DAMAGES.values())}
    sound = [f"good-{n}" for n in range(5)]  # rows of another defence are a minority
    queries = sorted([*told, *sound])
    batch(records(snapshots(0, queries=queries)))
    for query, setting in zip(told, DAMAGES, strict=True):
        damage(engine, setting, query)
    later = records(snapshots(1, 2, queries=queries), len(queries))
    outcomes = batch(later)
    answered = sorted((o.query_id, o.step) for o in outcomes if isinstance(o, AnswerEvent))
    assert answered == [(query, step) for query in sound for step in (1, 2)]
    letters = [outcome for outcome in outcomes if isinstance(outcome, DeadLetter)]
    assert {(x.reason, x.disposition) for x in letters} == {(ReasonClass.DAMAGED_STATE, "outage")}
    for query, why in told.items():
        of_query = [x for x in letters if f"query {query} is damaged" in x.detail]
        places = [r.position for r in later if f'"{query}"'.encode() in r.payload]
        assert [x.position for x in of_query] == places, "in the order of their event times"
        assert len(places) == 2 and all(why in x.detail for x in of_query)
    queued = [r for _, r in pending(engine, 999) if r.topic == "snapshots.deadletter"]
    assert sorted(r.data for r in queued) == sorted(encode(x) for x in letters)
    assert {row.step for row in load(engine, sound).values()} == {3}


def test_a_number_that_sqlite_reads_as_another_one_holds_up_nobody(settings: Settings) -> None:
    batch, engine = MicroBatch(settings), shared_engine(settings)
    batch(records(snapshots(0)))
    damage(engine, "step = 1.5")
    outcomes = batch(records(snapshots(1), 3))
    assert sorted(o.query_id for o in outcomes if isinstance(o, AnswerEvent)) == sorted(QUERIES)
    assert load(engine, ["tea"])["tea"].step == 2


def test_what_was_folded_before_the_damage_is_no_dead_letter(settings: Settings) -> None:
    batch, engine = MicroBatch(settings), shared_engine(settings)
    batch(records(snapshots(0, 1)))
    damage(engine, "state = X'00'")
    assert batch(records(snapshots(0, 1))) == [], "read again after a crash"


def test_another_defence_over_most_rows_is_still_refused(settings: Settings) -> None:
    batch, engine = MicroBatch(settings), shared_engine(settings)
    batch(records(snapshots(0)))
    with engine.begin() as connection:
        connection.execute(text("UPDATE memory SET defense = 'vanilla' WHERE query_id <> 'cup'"))
    with pytest.raises(ConfigurationError, match="vanilla"):
        batch(records(snapshots(1), 3))


def test_a_resumed_replay_parks_the_damaged_query_and_answers_the_others(settings) -> None:
    def source(*steps: int) -> Any:
        given = snapshots(*steps)
        return lambda: [RawRecord("file", n, encode(s)) for n, s in enumerate(given, 1)]

    run_replay(settings, source(0), "input")
    engine = shared_engine(settings)
    mark_sent(engine, [seq for seq, _ in pending(engine, 99)])
    damage(engine, "state = X'FF'")
    run_replay(settings, source(0, 1), "input")
    events = [record for _, record in pending(engine, 99)]
    dead = [decode_dead_letter(r.data) for r in events if r.topic == "snapshots.deadletter"]
    assert [(x.reason, x.position) for x in dead] == [(ReasonClass.DAMAGED_STATE, 5)]
    assert {"cup/1", "pie/1"} <= {record.event_id for record in events}
    assert "tea/1" not in {record.event_id for record in events}


GONE = OperationalError("UPDATE", {}, Exception("closed"), connection_invalidated=True)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(GONE, "transient"), (StateConflictError("moved"), "transient"),
     (ZeroDivisionError(), "defect"), (InputError(ReasonClass.WRONG_TYPE, "a row"), "fatal")],
)  # fmt: skip
def test_errors_keep_their_meaning_through_the_runner(settings, monkeypatch, error, kind) -> None:
    def failing(*_: object) -> None:
        raise error

    batch = MicroBatch(settings)
    with monkeypatch.context() as patched:
        patched.setattr(folding, "commit_fold", failing)
        with pytest.raises(Exception) as raised:
            batch(records(snapshots(0)))
    assert (kind_of(raised.value), graph.SLOTS) == (kind, {})
    if isinstance(error, InputError):
        assert isinstance(raised.value, InputError) and "while running" in raised.value.detail
        assert logs.said_of(raised.value)["reason"] == "wrong_type"
    assert len(batch(records(snapshots(0)))) == 3  # nothing of the failed run stays behind


class Kept:
    """A sink that keeps what it was given."""

    def __init__(self) -> None:
        self.records: list[OutboxRecord] = []

    def publish(self, records: Any) -> None:
        self.records += records


@pytest.mark.parametrize(
    "setting",
    ["envelope = '{'", "envelope = CAST(X'FF' AS TEXT)", "envelope = X'00'",
     """envelope = '{"specversion":"1.0","id":5}'""", "topic = 'no where'"],
)  # fmt: skip
def test_a_damaged_unsent_event_holds_up_no_other(settings: Settings, setting: str) -> None:
    engine, sink = shared_engine(settings), Kept()
    MicroBatch(settings)(records(snapshots(0)))
    before = [record.event_id for _, record in pending(engine, 99)]
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE outbox SET {setting} WHERE event_id = 'tea/0'")
    assert (publish_outbox(engine, sink, 2), pending(engine)) == (len(before), [])
    (letter,) = [r for r in sink.records if r.topic == "snapshots.deadletter"]
    content = decode_dead_letter(letter.data)
    assert (content.reason, content.disposition) == (ReasonClass.DAMAGED_STATE, "poison")
    published = [record.event_id for record in sink.records]
    assert sorted(published) == sorted({*before, letter.event_id} - {"tea/0"})
