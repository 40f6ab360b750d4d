"""The ordered step per query: order, resumption, late and repeated snapshots, failures, crashes."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import MemoryRow, load
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.radar import Radar
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.beam.folding import Item, Recorded, fold_queries
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.schemas.codec import decode_dead_letter, encode
from radarstream.schemas.errors import ConfigurationError, ReasonClass, StateConflictError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import OutboxRecord, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import wire_time
from tests.builders import OBSERVED_AT, make_snapshot
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
