"""Reading partitions as a splittable DoFn: pauses, gaps, ends, watermarks; on a scripted log."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.runners.sdf_utils import (
    RestrictionTrackerView,
    ThreadsafeRestrictionTracker,
    ThreadsafeWatermarkEstimator,
)
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.utils.timestamp import MIN_TIMESTAMP, Timestamp
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.beam.cluster.kafka_source import (
    NO_END,
    OffsetRanges,
    PartitionRange,
    ReadLimits,
    ReadPartitions,
)
from radarstream.schemas.codec import encode
from radarstream.schemas.codec.event_time import event_time
from radarstream.schemas.records import LogPosition, RawRecord
from tests.builders import OBSERVED_AT, make_snapshot

NOW = OBSERVED_AT + timedelta(days=1)


@dataclass
class ScriptedReader:
    """A partition whose records are known; a poll returns at most `share` of them."""

    records: Sequence[RawRecord]
    end: int
    share: int = 100
    at: int = 0
    more: bool = False  # there is more, but the broker is slow to hand it out
    remembered: list[int] = field(default_factory=list)
    closed: bool = False

    def seek(self, offset: int) -> None:
        self.at = offset

    def poll(self, *, max_records: int, timeout_s: float) -> list[RawRecord]:
        assert max_records > 0
        there = [r for r in self.records if r.position >= self.at]
        taken = there[: min(max_records, self.share)]
        if taken:
            self.at = taken[-1].position + 1
        if len(taken) == len(there):
            self.at = max(self.at, self.end)
        return taken

    def position(self) -> int:
        return self.at

    def drained(self) -> bool:
        return self.at >= self.end and not self.more

    def remember(self, next_offset: int) -> None:
        self.remembered.append(next_offset)

    def close(self) -> None:
        self.closed = True


def record(offset: int, minute: float | None = None, size: int = 1) -> RawRecord:
    time = OBSERVED_AT + timedelta(minutes=offset if minute is None else minute)
    payload = encode(make_snapshot(["page " * size], observed_at=time))
    return RawRecord("e/t/0", offset, payload, log=LogPosition("e", 0, offset))


@dataclass
class Turns:
    """Drives the DoFn as a runner does: one turn after the other, each from what was left."""

    reading: ReadPartitions
    element: PartitionRange
    watermark: Timestamp = MIN_TIMESTAMP

    def __post_init__(self) -> None:
        self.rest: Any = OffsetRanges().initial_restriction(self.element)

    def turn(self) -> list[Any]:
        tracker = OffsetRanges().create_tracker(self.rest)
        shared = ThreadsafeRestrictionTracker(tracker)
        estimator = ThreadsafeWatermarkEstimator(ManualWatermarkEstimator(self.watermark))
        out = list(self.reading.process(self.element, RestrictionTrackerView(shared), estimator))
        shared.check_done()
        status = shared.deferred_status()
        self.rest = status[0] if status else None
        self.watermark = estimator.current_watermark()
        return out

    def all(self) -> list[list[int]]:
        turns = []
        while self.rest is not None:
            turns.append([value.value.position for value in self.turn()])
            assert len(turns) < 1_000
        return turns


def reading(
    reader: ScriptedReader, now: Callable[[], datetime] = lambda: NOW, **limits: Any
) -> ReadPartitions:
    return ReadPartitions(lambda _: reader, ReadLimits(seconds=0.01, **limits), now)


@given(
    gaps=st.lists(st.integers(0, 3), min_size=1, max_size=20),
    trailing=st.integers(0, 3),
    share=st.integers(1, 7),
    limit=st.integers(1, 7),
    start=st.integers(0, 10),
)
def test_a_range_is_read_once_in_order_whatever_its_gaps_and_pauses(
    gaps: list[int], trailing: int, share: int, limit: int, start: int
) -> None:
    offsets, at = [], 0
    for gap in gaps:
        offsets.append(at + gap)
        at += gap + 1
    end = at + trailing
    reader = ScriptedReader([record(o) for o in offsets], end, share)
    turns = Turns(reading(reader, records=limit), PartitionRange(0, start, end)).all()
    assert [o for turn in turns for o in turn] == [o for o in offsets if o >= start]
    assert max(map(len, turns)) <= limit
    assert reader.remembered == sorted(reader.remembered)


def test_an_endless_range_pauses_and_is_never_done() -> None:
    reader = ScriptedReader([record(o) for o in range(5)], 5, share=2)
    turns = Turns(reading(reader, records=3), PartitionRange(0, 0))
    assert [[v.value.position for v in turns.turn()] for _ in range(4)] == [
        [0, 1, 2],
        [3, 4],
        [],
        [],
    ]
    assert (turns.rest.start, turns.rest.stop) == (5, NO_END)
    assert reader.remembered == [0, 3, 5, 5]


def test_a_turn_ends_when_it_has_read_enough_bytes() -> None:
    reader = ScriptedReader([record(o, size=200) for o in range(6)], 6)
    size = len(reader.records[0].payload)
    turns = Turns(reading(reader, record_bytes=2 * size), PartitionRange(0, 0, 6)).all()
    assert turns == [[0, 1], [2, 3], [4, 5]]


def test_records_have_their_event_times_and_the_watermark_is_the_newest() -> None:
    reader = ScriptedReader([record(0, 5), record(1, 3), record(2, 9)], 3, more=True)
    turns = Turns(reading(reader), PartitionRange(0, 0))
    times = [value.timestamp for value in turns.turn()]
    assert times == [stamp(OBSERVED_AT + timedelta(minutes=m)) for m in (5, 3, 9)]
    assert turns.watermark == stamp(OBSERVED_AT + timedelta(minutes=9))


def test_a_quiet_partition_follows_the_clock_and_never_goes_back() -> None:
    clock = [NOW]
    reader = ScriptedReader([], end=0)
    turns = Turns(reading(reader, lambda: clock[0], idle_s=5.0), PartitionRange(0, 0))
    seen = []
    for seconds in (0, 60, 30, 90):
        clock[0] = NOW + timedelta(seconds=seconds)
        turns.turn()
        seen.append(turns.watermark)
    assert seen == [stamp(NOW + timedelta(seconds=s - 5)) for s in (0, 60, 60, 90)]


def test_a_partition_with_more_to_read_does_not_follow_the_clock() -> None:
    turns = Turns(reading(ScriptedReader([], end=0, more=True)), PartitionRange(0, 0))
    assert turns.turn() == []
    assert turns.watermark == MIN_TIMESTAMP


def test_a_snapshot_from_the_future_moves_the_watermark_to_now_only() -> None:
    reader = ScriptedReader([record(0, minute=60 * 24 * 365 * 500)], 1, more=True)
    turns = Turns(reading(reader), PartitionRange(0, 0))
    (value,) = turns.turn()
    assert value.timestamp > stamp(NOW)
    assert turns.watermark == stamp(NOW)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{}",
        b'{"observed_at": 17}',
        b'{"observed_at": "2025-06-01T12:00:00.000000"}',
        b'{"observed_at": "2025-99-01T12:00:00.000Z"}',
        b'{"documents":[{"text":"\\"observed_at\\":\\"2999-01-01T00:00:00.000Z\\""}]}',
    ],
)
def test_what_says_no_time_moves_nothing(payload: bytes) -> None:
    assert event_time(payload) is None
    bad = RawRecord("e/t/0", 0, payload, log=LogPosition("e", 0, 0))
    turns = Turns(reading(ScriptedReader([bad], 1, more=True)), PartitionRange(0, 0))
    (value,) = turns.turn()
    assert value.timestamp == turns.watermark == MIN_TIMESTAMP


@given(st.datetimes(timezones=st.just(UTC)).map(lambda t: t.replace(microsecond=0)))
def test_event_times_are_those_of_the_wire_format(time: datetime) -> None:
    assert event_time(encode(make_snapshot(["a page"], observed_at=time))) == time


def test_only_pausing_splits_an_endless_range() -> None:
    tracker = OffsetRanges().create_tracker(
        OffsetRanges().initial_restriction(PartitionRange(0, 3))
    )
    assert tracker.try_claim(3)
    assert tracker.try_split(0.5) is None
    done, rest = tracker.try_split(0)
    assert (done.start, done.stop, rest.start, rest.stop) == (3, 4, 4, NO_END)
    assert not tracker.is_bounded()
    assert OffsetRanges().truncate(PartitionRange(0, 3), rest) is None  # a drained job stops


def test_readers_are_kept_between_turns_and_closed_at_the_end() -> None:
    reader = ScriptedReader([record(o) for o in range(4)], 4)
    opened = []
    source = ReadPartitions(lambda p: opened.append(p) or reader, ReadLimits(records=1))
    Turns(source, PartitionRange(7, 0, 4)).all()
    source.teardown()
    assert opened == [7]
    assert reader.closed


class FourPartitions:
    """Opens scripted readers on a worker."""

    def __call__(self, partition: int) -> ScriptedReader:
        return ScriptedReader([record(o) for o in range(partition * 10)], partition * 10, share=3)


def test_on_a_runner_every_partition_is_read_to_its_end() -> None:
    assert pickle.loads(pickle.dumps(PartitionRange(1, 2, 3))) == PartitionRange(1, 2, 3)
    ranges = [PartitionRange(p, 0, p * 10) for p in range(4)]
    with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([])) as pipeline:
        offsets = (
            pipeline
            | beam.Create(ranges)
            | beam.ParDo(ReadPartitions(FourPartitions(), ReadLimits(records=4)))
            | beam.Map(lambda r: r.position)
        )
        expected = [o for p in range(4) for o in range(p * 10)]
        assert_that(offsets, equal_to(expected))


def stamp(time: datetime) -> Timestamp:
    return Timestamp.from_utc_datetime(time)
