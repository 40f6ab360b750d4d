"""The collector: when it fetches, in which order, and what a failure leaves alone."""

import json
import sqlite3
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from radarstream.connectors.files.reader import read_records
from radarstream.connectors.search.paged import SearchCounts
from radarstream.connectors.state_table.queries.watchlist import find, replace_all
from radarstream.connectors.state_table.serving.kept_events import keep_event
from radarstream.pipelines.job.collecting.backfilling import (
    opened_history,
    periods,
    planned,
    run_backfill,
)
from radarstream.pipelines.job.collecting.collector import Collector
from radarstream.pipelines.job.telemetry.metrics import CollectingMetrics
from radarstream.pipelines.settings import WatchSettings
from radarstream.pipelines.settings.watched import Watched
from radarstream.schemas.codec import decode_record, encode
from radarstream.schemas.errors import (
    BrokerError,
    ConfigurationError,
    RadarstreamError,
    RecordTooLargeError,
)
from radarstream.schemas.records import Limits, OutboxRecord
from radarstream.schemas.searching import FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot
from tests.builders import make_documents
from tests.clocks import FakeClock
from tests.wire_samples import ANSWER

START = datetime(2025, 6, 1, tzinfo=UTC)


class World:
    """A searcher and a sink with faults to order, and everything they were asked."""

    def __init__(self, engine: Engine, clock: FakeClock) -> None:
        self.engine, self.clock = engine, clock
        self.searched: list[tuple[float, str]] = []
        self.places: list[tuple[int, str]] = []
        self.published: list[str] = []
        self.search_faults: dict[str, list[RadarstreamError]] = {}
        self.publish_faults: list[RadarstreamError] = []

    def search(self, request: SearchRequest) -> SearchSnapshot:
        self.searched.append((self.clock.seconds, request.query.id))
        self.places.append((request.start, request.words))
        self.clock.seconds += 2.0
        faults = self.search_faults.get(request.query.id, [])
        if faults:
            raise faults.pop(0)
        observed = request.dates.last_second if request.dates else self.clock.now()
        found = Document(1, "a", url=f"https://example.org/{request.start}/{request.words}")
        return SearchSnapshot(request.query, observed, (found,))

    def publish(self, records: list[OutboxRecord]) -> None:
        if self.publish_faults:
            raise self.publish_faults.pop(0)
        self.published += [record.event_id for record in records]

    def names(self) -> list[str]:
        return [name for _, name in self.searched]


@pytest.fixture
def world(engine: Engine) -> World:
    return World(engine, FakeClock(START))


def watching(world: World, *names: str, **settings: float) -> Collector:
    """A collector of these queries."""
    collector = Collector(
        search=lambda request: world.search(request),  # which a test may replace
        sink=world,
        engine=world.engine,
        clock=world.clock,
        settings=WatchSettings(**settings),
        metrics=CollectingMetrics(SearchCounts()),
    )
    if names:
        collector.replace(entries(*names))
    return collector


def entries(*names: str, cadence: str = "1h") -> tuple[Watched, ...]:
    return tuple(Watched(question=f"Who is {n}?", id=n, cadence=cadence) for n in names)


def run_for(collector: Collector, seconds: float) -> None:
    clock: Any = collector.clock
    end = clock.seconds + seconds
    collector.run(lambda: clock.seconds >= end, lambda: None)


def test_every_query_is_fetched_at_once_and_then_on_its_cadence(world: World) -> None:
    collector = watching(world)
    collector.replace(entries("a", "b") + entries("slow", cadence="6h"))
    run_for(collector, 12 * 3600.0)
    assert world.names()[:3] == ["a", "b", "slow"]
    for name, expected in (("a", 12), ("b", 12), ("slow", 2)):
        times = [at for at, who in world.searched if who == name]
        assert abs(len(times) - expected) <= 2
        cadence = 6 * 3600.0 if name == "slow" else 3600.0
        gaps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
        assert all(0.9 * cadence - 5 <= gap <= 1.1 * cadence + 5 for gap in gaps)
    assert len(world.published) == len(world.searched)
    assert len(set(world.published)) == len(world.published)


def test_a_database_that_restarts_is_waited_for(world: World) -> None:
    collector = watching(world, "a", "b")
    away = [OperationalError("UPDATE", None, ConnectionError(), connection_invalidated=True)] * 3
    end = world.clock.seconds + 60.0

    def every_turn() -> None:
        if away:
            raise away.pop()

    collector.run(lambda: world.clock.seconds >= end, every_turn)
    assert (world.searched[0][0], sorted(world.names())) == (15.0, ["a", "b"])
    away = [OperationalError("UPDATE", None, sqlite3.OperationalError("disk I/O error"))]
    with pytest.raises(OperationalError):
        collector.run(lambda: False, every_turn)


def test_a_downtime_is_followed_by_one_fetch_of_each_query(world: World) -> None:
    run_for(watching(world, "a", "b", "c"), 60.0)
    world.clock.seconds += 50 * 3600.0
    world.searched.clear()
    run_for(watching(world, "a", "b", "c"), 1800.0)
    assert sorted(world.names()) == ["a", "b", "c"]


def test_one_failing_query_backs_off_and_the_others_go_on(world: World) -> None:
    world.search_faults["bad"] = [SearchFailedError(FailureClass.REFUSED, "no")] * 1_000
    collector = watching(world, "bad", "good", first_pause_s=60.0, longest_pause_s=3600.0)
    run_for(collector, 10 * 3600.0)
    bad = [at for at, name in world.searched if name == "bad"]
    gaps = [round(later - earlier) for earlier, later in zip(bad, bad[1:], strict=False)]
    assert gaps[:5] == pytest.approx([60, 120, 240, 480, 960], abs=6)
    assert max(gaps) <= 3610
    assert 8 <= world.names().count("good") <= 12
    value = collector.metrics.registry.get_sample_value
    assert value("radarstream_search_failures_total", {"failure": "refused"}) == len(bad)


@pytest.mark.parametrize("further", [0, 2])
def test_where_the_last_answer_wanted_more_the_next_fetch_searches_further(world, further) -> None:
    deep = [(0, ""), (10, ""), (0, "capital peru")][: 1 + further]
    collector = watching(world, further_searches=further)
    collector.replace((Watched(question="What is the capital of Peru?", id="a", cadence="1h"),))
    settled, judged = replace(ANSWER, wanted_more=False), ANSWER.verdict.documents[0]
    read_on = replace(ANSWER.verdict, documents=(replace(judged, rank=11),))
    more, searched = replace(settled, wanted_more=True), replace(settled, verdict=read_on)
    shallow = [(0, "")]  # by what a search finds
    for step, (event, expected) in enumerate(
        ((settled, shallow), (more, deep), (searched, deep), (settled, shallow))
    ):
        with world.engine.begin() as connection:
            keep_event(connection, replace(event, query_id="a", step=step), steps=5)
        world.places.clear()
        run_for(collector, 3_000.0)
        world.clock.seconds += 1_000.0  # due again
        assert world.places == expected
    assert len(world.published) == 4
    value = collector.metrics.registry.get_sample_value
    assert value("radarstream_documents_collected_total") == 4 + 2 * further
    assert value("radarstream_deeper_fetches_total") == 2 * (further > 0)


def test_when_credits_are_used_up_everybody_waits_and_nobody_is_blamed(world: World) -> None:
    world.search_faults["a"] = [SearchFailedError(FailureClass.OUT_OF_BUDGET, "none left")]
    collector = watching(world, "a", "b")
    run_for(collector, 3500.0)
    assert world.names() == ["a"]
    run_for(collector, 300.0)
    assert world.names() == ["a", "a", "b"]


def test_a_snapshot_that_could_not_be_published_is_not_paid_for_twice(world: World) -> None:
    world.publish_faults = [BrokerError("down")] * 9
    run_for(watching(world, "a"), 600.0)
    assert (world.names(), len(world.published)) == (["a"], 1)
    row = find(world.engine, "a")
    assert row is not None
    assert row.last_fetched_ms is not None


def test_a_snapshot_that_no_topic_takes_fails_its_query_only(world: World) -> None:
    world.publish_faults = [RecordTooLargeError("too large")]
    run_for(watching(world, "a", "b"), 30.0)
    assert (world.names(), len(world.published)) == (["a", "b"], 1)


def test_a_crash_between_publication_and_record_publishes_a_newer_snapshot(world: World) -> None:
    class CrashError(BaseException):
        pass

    collector = watching(world, "a")
    collector._succeed = lambda *_: (_ for _ in ()).throw(CrashError)  # type: ignore[assignment]
    with pytest.raises(CrashError):
        collector.fetch_next()
    again = watching(world, "a")
    run_for(again, 890.0)
    assert len(world.published) == 1  # the claim still holds
    run_for(again, 60.0)
    assert len(world.published) == 2
    first, second = (int(event.partition("@")[2]) for event in world.published)
    assert second > first


@pytest.mark.parametrize("where", ["search", "publish"])
def test_a_refused_key_or_topic_stops_it_before_more_is_spent(world: World, where: str) -> None:
    refused = [ConfigurationError("a key, or a topic that may not be written")]
    world.search_faults["a"] = refused if where == "search" else []
    world.publish_faults = refused if where == "publish" else []
    with pytest.raises(ConfigurationError):
        run_for(watching(world, "a", "b"), 60.0)
    assert world.names() == ["a"]


def test_a_damaged_entry_of_the_table_fails_alone(world: World) -> None:
    (good,) = entries("good")
    replace_all(world.engine, [("bad", "{}"), ("good", good.model_dump_json())], 0)
    run_for(watching(world), 30.0)
    assert world.names() == ["good"]


def test_a_query_at_the_end_of_a_long_pass_has_its_whole_lease(world: World) -> None:
    """Another collector comes by during every search, the first of which takes an hour."""
    collector = watching(world, "a", "b")
    beside = World(world.engine, world.clock)
    other = watching(beside)
    search = world.search

    def watched_by_another(request: SearchRequest) -> SearchSnapshot:
        world.clock.seconds += 10.0 if world.searched else 3600.0
        if world.searched:
            other.fetch_next()
        return search(request)

    world.search = watched_by_another  # type: ignore[method-assign]
    assert (collector.fetch_due_once(lambda: False), world.names()) == (0, ["a", "b"])
    assert "b" not in beside.names()


def test_once_fetches_what_is_due_and_counts_failures(world: World) -> None:
    world.search_faults["b"] = [SearchFailedError(FailureClass.UNAVAILABLE, "down")]
    collector = watching(world, "a", "b", "c")
    assert collector.fetch_due_once(lambda: False) == 1
    assert (collector.fetch_due_once(lambda: False), world.names()) == (0, ["a", "b", "c"])


# --- past periods -----------------------------------------------------------------------------

TODAY = date(2025, 6, 1)


@pytest.mark.parametrize(
    ("first", "last"),
    [("2024", "2023"), ("2024", "2025"), ("15", "16"), ("2024-13", "2024"), ("2024-Q5", "2024")],
)
def test_periods_that_cannot_be(first: str, last: str) -> None:
    with pytest.raises(ConfigurationError):
        periods(first, last, "year", TODAY)


def test_a_backfill_goes_on_where_it_ended_and_can_be_replayed(tmp_path, world) -> None:
    file = tmp_path / "history.jsonl"
    requests = [SearchRequest(Query(name, f"Who is {name}?"), k=20) for name in ("a", "b")]
    spans = periods("2021", "2023", "year", TODAY)
    with opened_history(file) as (present, write):
        work = planned(requests, spans, present)
        assert len(work) == 6
        failed = run_backfill(work, world.search, write, lambda: len(world.searched) >= 4)
        assert failed[0][1] == "not reached: stopped"
    with file.open("ab") as stream:
        stream.write(b'{"schema":"search.snap')  # as a crash would leave it
    with opened_history(file) as (present, write):
        work = planned(requests, spans, present)
        rest = [(r.query.id, r.dates.last.year) for r in work if r.dates]
        assert rest == [("b", 2022), ("b", 2023)]
        assert run_backfill(work, world.search, write, lambda: False) == []
    snapshots = [decode_record(record, limits=Limits(), now=None) for record in read_records(file)]
    assert [(s.query.id, s.observed_at.year) for s in snapshots] == [
        (name, year) for name in ("a", "b") for year in (2021, 2022, 2023)
    ]
    assert snapshots[0].observed_at == datetime(2021, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_a_backfill_goes_past_a_failure_and_stops_when_credits_end(tmp_path, world) -> None:
    requests = [SearchRequest(Query(name, "Who?")) for name in ("a", "b", "c")]
    world.search_faults["a"] = [SearchFailedError(FailureClass.UNAVAILABLE, "down")]
    world.search_faults["b"] = [SearchFailedError(FailureClass.OUT_OF_BUDGET, "used up")]
    with opened_history(tmp_path / "h.jsonl") as (present, write):
        work = planned(requests, periods("2021", "2021", "year", TODAY), present)
        failed = run_backfill(work, world.search, write, lambda: False)
    told = [(r.query.id, why) for r, why in failed]
    assert told == [("a", "down"), ("b", "used up"), ("c", "not reached: used up")]


@pytest.mark.parametrize("end", ["\n", "", '\n{"schema":"search.snap'])
def test_a_history_with_foreign_lines_is_refused_and_left_alone(tmp_path: Path, end: str) -> None:
    file = tmp_path / "h.jsonl"
    file.write_text(json.dumps({"schema": "other/1"}) + end)
    before = file.read_bytes()
    with pytest.raises(ConfigurationError, match="line 1 is damaged"), opened_history(file):
        pass
    assert file.read_bytes() == before


def test_a_last_snapshot_without_a_line_end_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    one, two = (SearchSnapshot(Query(n, "Who?"), START, make_documents(["a"])) for n in "ab")
    file.write_bytes(encode(one))
    with opened_history(file) as (present, write):
        assert present == {one.id}
        write(two)
    assert file.read_bytes() == encode(one) + b"\n" + encode(two) + b"\n"
