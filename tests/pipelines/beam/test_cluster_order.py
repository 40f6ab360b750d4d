"""The event-time ordered step, on a runner whose watermark the test moves by hand."""

import itertools
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing import test_stream as streams
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp

from radarstream.connectors.files.jsonl_sink import JsonlSink
from radarstream.connectors.state_table.queries.memory import MemoryRow, load
from radarstream.connectors.state_table.queries.outbox import pending, publish_outbox
from radarstream.pipelines import build
from radarstream.pipelines.beam.cluster.stream import DefendStream
from radarstream.pipelines.beam.graph import DefendSnapshots
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import LogPosition, OutboxRecord, RawRecord
from tests.builders import GIVE_ALL, OBSERVED_AT, make_snapshot

TEAMS = ["Rome", "Oslo", "Bern", "Lima", "Kyiv", "Riga"]
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def own_process_state() -> Iterator[None]:
    """Guards and engines are kept per process; each test starts with its own."""
    yield
    build._guard.cache_clear()
    build._engine.cache_clear()


def settings_for(directory: Path, lateness_s: float = 0.0) -> Settings:
    return load_settings(
        profile="scripted",
        database=f"sqlite:///{directory / 'state.db'}",
        job={"allowed_lateness_s": lateness_s},
        batch={"snapshots": 2},
        defense=GIVE_ALL,
    )


def record(minute: int, offset: int, query_id: str = "cup", partition: int = 0) -> RawRecord:
    """The snapshot of a minute, at an offset of a partition."""
    team = TEAMS[minute % len(TEAMS)]
    texts = [f"{team} won the Riverside Cup, says page {n}." for n in range(3)]
    snapshot = make_snapshot(
        texts,
        question="Who won the Riverside Cup?",
        query_id=query_id,
        observed_at=OBSERVED_AT + minute * MINUTE,
    )
    place = LogPosition("epoch", partition, offset)
    return RawRecord(f"epoch/search.snapshots/{partition}", offset, encode(snapshot), log=place)


def at(minute: float) -> Timestamp:
    return Timestamp.from_utc_datetime(OBSERVED_AT + minute * MINUTE)


class Directory:
    """Opens a sink of files; picklable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, _: Settings) -> JsonlSink:
        self.path.mkdir(exist_ok=True)
        return JsonlSink(self.path)


class Unreachable:
    """A sink that is down."""

    def __init__(self, _: Settings) -> None:
        pass

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        raise BrokerError("connection refused")


def run(settings: Settings, stream: streams.TestStream, open_sink: Any) -> None:
    """Defend the stream on the one local runner whose event-time timers obey the watermark."""
    options = PipelineOptions(["--streaming"])
    with beam.Pipeline(runner=BundleBasedDirectRunner(), options=options) as pipeline:
        pipeline | stream | DefendStream(settings, partial(open_sink, settings), live=False)


def arriving(*steps: RawRecord | Sequence[RawRecord] | float) -> streams.TestStream:
    """Records in turn; a number moves the watermark to that minute; then everything ends."""
    stream = streams.TestStream()
    for step in steps:
        if isinstance(step, int | float):
            stream.advance_watermark_to(at(step))
        else:
            together = [step] if isinstance(step, RawRecord) else step
            stream.add_elements([TimestampedValue(record, at(0)) for record in together])
    return stream.advance_watermark_to_infinity()


def published(out: Path, name: str = "answers") -> list[dict[str, Any]]:
    """Events in the order of their publication."""
    return [json.loads(line) for line in (out / f"{name}.jsonl").read_bytes().splitlines()]


def rows(settings: Settings, query_ids: Sequence[str]) -> dict[str, MemoryRow]:
    return load(shared_engine(settings), query_ids)


def test_any_order_of_arrival_gives_what_a_bounded_run_gives(tmp_path: Path) -> None:
    """Every permutation of four snapshots, each as a query of its own, spread over partitions."""
    records = [
        record(minute, offset=10 * number + index, query_id=f"q{number}", partition=number % 3)
        for number, order in enumerate(itertools.permutations(range(4)))
        for index, minute in enumerate(order)
    ]
    broken = RawRecord("epoch/search.snapshots/1", 999, b"{", log=LogPosition("epoch", 1, 999))
    bounded = settings_for(tmp_path / "bounded")
    (tmp_path / "bounded").mkdir()
    with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([])) as pipeline:
        pipeline | beam.Create([*records, broken]) | DefendSnapshots(bounded, "")
    with Directory(tmp_path / "bounded")(bounded) as sink:
        publish_outbox(shared_engine(bounded), sink)
    settings = settings_for(tmp_path)
    turns = [records[index::4] for index in range(4)]  # every query's next, over and over
    run(settings, arriving(*turns, broken), Directory(tmp_path / "out"))
    ids = sorted({f"q{number}" for number in range(24)})
    assert rows(settings, ids) == rows(bounded, ids)
    assert {row.step for row in rows(settings, ids).values()} == {4}
    for name in ("answers", "attribution", "deadletter"):
        ours = {event["id"]: event for event in published(tmp_path / "out", name)}
        assert ours == {event["id"]: event for event in published(tmp_path / "bounded", name)}
    assert len(published(tmp_path / "out", "deadletter")) == 1
    for query_id in ids:
        steps = [
            e["data"] for e in published(tmp_path / "out") if e["data"]["query_id"] == query_id
        ]
        assert [(e["step"], e["answer"]) for e in steps] == list(enumerate(TEAMS[:4]))
    assert pending(shared_engine(settings)) == []


def test_snapshots_wait_for_the_watermark_and_the_allowed_lateness(tmp_path: Path) -> None:
    """What is published first shows what was folded first; arrival order would be the reverse."""
    settings = settings_for(tmp_path, lateness_s=120.0)
    stream = arriving(record(5, 0, "new"), record(3, 1, "old"), 4.0, record(1, 2, "late"), 6.0)
    run(settings, stream, Directory(tmp_path / "out"))
    assert [e["data"]["query_id"] for e in published(tmp_path / "out")] == ["late", "old", "new"]


def test_an_older_snapshot_is_not_held_up_by_a_newer_one_that_came_first(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    stream = arriving(record(5, 0, "a"), record(1, 1, "a"), record(2, 2, "b"), 1.5, 3.0)
    run(settings, stream, Directory(tmp_path / "out"))
    assert [e["id"] for e in published(tmp_path / "out")] == ["a/0", "b/0", "a/1"]


@pytest.mark.parametrize(("lateness_s", "answers", "dead"), [(0.0, 3, 1), (600.0, 4, 0)])
def test_beyond_the_lateness_a_snapshot_is_late_within_it_is_in_order(
    tmp_path: Path, lateness_s: float, answers: int, dead: int
) -> None:
    settings = settings_for(tmp_path, lateness_s)
    first, third, second = record(0, 0), record(9, 1), record(4, 2)
    alone = record(2, 3, "alone")  # as late as `second`, but nothing newer of its query is known
    run(settings, arriving(first, third, 10.0, second, alone), Directory(tmp_path / "out"))
    events = published(tmp_path / "out")
    times = [e["data"]["observed_at"] for e in events if e["data"]["query_id"] == "cup"]
    assert times == sorted(times)
    assert len(events) == answers
    letters = [e["data"] for e in published(tmp_path / "out", "deadletter")]
    assert [(x["reason"], x["position"]) for x in letters] == [("late", 2)] * dead
    assert rows(settings, ["alone"])["alone"].step == 1


def test_records_read_again_change_nothing_and_publish_what_was_not_published(
    tmp_path: Path,
) -> None:
    """A runner that goes back to an older checkpoint, after the fold and before the publication."""
    settings = settings_for(tmp_path)
    records = [record(minute, offset) for offset, minute in enumerate((0, 2, 1))]
    with pytest.raises(BrokerError):
        run(settings, arriving(*records), Unreachable)
    before = rows(settings, ["cup"])
    assert before["cup"].step == 3
    assert [entry.record.event_id for entry in pending(shared_engine(settings))]
    run(settings, arriving(*records), Directory(tmp_path / "out"))
    assert [e["id"] for e in published(tmp_path / "out")] == ["cup/0", "cup/1", "cup/2"]
    run(settings, arriving(*records), Directory(tmp_path / "again"))
    assert published(tmp_path / "again") == []
    assert rows(settings, ["cup"]) == before
