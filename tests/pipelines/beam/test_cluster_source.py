"""Reading partitions on a cluster: turns, gaps, ends, what is held back, older checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from apache_beam.utils.timestamp import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.beam.cluster.kafka_source import (
    OFFSET_AND_MARK,
    FollowPartitions,
    PartitionRange,
    ReadLimits,
    ReadPartitions,
)
from radarstream.pipelines.beam.holding import HoldBack, event_time_of
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import RawRecord
from radarstream.schemas.times import event_time
from tests.builders import OBSERVED_AT, logged, make_snapshot

UNHELD = partial(HoldBack, 0.0, event_time_of)


@dataclass
class ScriptedReader:
    """A partition whose records are known; a poll returns at most `share` of them."""

    records: Sequence[RawRecord]
    end: int
    share: int = 100
    partition: int = 0
    at: int = 0
    fails: bool = False
    more: bool = False  # there is more, but the broker is slow to hand it out
    remembered: list[int] = field(default_factory=list)
    closed: bool = False

    def seek(self, offset: int) -> None:
        self.at = offset

    def poll(self, *, max_records: int, timeout_s: float) -> list[RawRecord]:
        assert max_records > 0
        if self.fails:
            raise BrokerError("connection refused")
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
    return logged(make_snapshot(["page " * size], observed_at=time), offset)


def offsets(records: Sequence[RawRecord]) -> list[int]:
    return [record.position for record in records]


@dataclass
class Kept:
    """Beam's state or timer of a key, in memory."""

    value: Any = None

    def read(self) -> Any:
        return self.value

    def write(self, value: Any) -> None:
        self.value = value

    set = write


@dataclass
class Follower:
    """Drives the endless source as a runner does, with a state that a test may set back."""

    source: FollowPartitions
    place: Kept = field(default_factory=Kept)
    due: Kept = field(default_factory=Kept)

    @property
    def next_offset(self) -> int:
        """The offset in the state."""
        return OFFSET_AND_MARK.unpack(self.place.value)[0]  # type: ignore[no-any-return]

    def begin(self, start: int = 0) -> None:
        self.source.process((0, PartitionRange(0, start)), self.place, self.due)

    def turn(self) -> list[int]:
        assert self.due.value is not None
        self.due.value = None
        return offsets(list(self.source.turn(0, self.place, self.due)))


def follower(reader: ScriptedReader, lateness_s: float = 0.0, **limits: Any) -> Follower:
    holding = partial(HoldBack, lateness_s, event_time_of)
    started = Follower(FollowPartitions(lambda _: reader, holding, ReadLimits(**limits)))
    started.begin()
    return started


@given(
    gaps=st.lists(st.integers(0, 3), min_size=1, max_size=20),
    trailing=st.integers(0, 3),
    beyond=st.integers(0, 3),
    share=st.integers(1, 7),
    limit=st.integers(1, 7),
    start=st.integers(0, 10),
)
def test_a_range_is_read_once_in_order_whatever_its_gaps(
    gaps: list[int], trailing: int, beyond: int, share: int, limit: int, start: int
) -> None:
    there, at = [], 0
    for gap in gaps:
        there.append(at + gap)
        at += gap + 1
    stop = at + trailing
    later = list(range(stop, stop + beyond))
    reader = ScriptedReader([record(o) for o in [*there, *later]], stop + beyond, share)
    source = ReadPartitions(lambda _: reader, UNHELD, ReadLimits(records=limit))
    given_out = source.process((0, PartitionRange(0, start, stop)))
    assert offsets(list(given_out)) == [o for o in there if o >= start]


@given(start=st.integers(0, 2**63 - 1))
def test_a_checkpoint_is_as_long_at_any_offset(start: int) -> None:
    reading = follower(ScriptedReader([], 0))
    reading.place.value = None
    reading.begin(start)
    assert (reading.next_offset, len(reading.place.value)) == (start, OFFSET_AND_MARK.size)


def test_a_turn_that_ended_at_a_limit_is_followed_at_once_and_a_quiet_one_after_a_pause() -> None:
    reading = follower(ScriptedReader([record(o) for o in range(3)], 3, share=2), records=2)
    pauses = []
    for _ in range(3):
        before = Timestamp.now()
        reading.turn()
        at_once = reading.due.value <= Timestamp.now()
        pauses.append("none" if at_once else float(reading.due.value - before) >= 0.1)
    assert pauses == ["none", True, True]


def test_a_turn_ends_when_it_has_read_enough_bytes() -> None:
    reader = ScriptedReader([record(o, size=200) for o in range(6)], 6, share=1)
    reading = follower(reader, record_bytes=2 * len(reader.records[0].payload))
    assert [reading.turn() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]


def test_within_the_lateness_records_come_by_event_time_and_none_is_passed_by() -> None:
    minutes = {0: 0.0, 1: 4.0, 2: 2.0, 3: 9.0, 4: 20.0}
    reader = ScriptedReader([record(o, m) for o, m in minutes.items()], 5, share=1, more=True)
    reading = follower(reader, lateness_s=300.0, records=1)
    assert reading.turn() == [0, 2, 1]  # minute 9 was seen: what is older than 4 may go
    assert reading.next_offset == 3  # the next that a restart must read
    assert (reading.turn(), reading.next_offset) == ([3], 4)


@given(
    order=st.permutations(range(8)),
    lateness=st.sampled_from([0.0, 90.0, 600.0]),
    share=st.integers(1, 4),
    limit=st.integers(1, 4),
    back=st.lists(st.integers(0, 3), max_size=6),
    reopened=st.booleans(),
)
def test_an_older_checkpoint_loses_nothing_and_passes_nothing_by(
    order: list[int], lateness: float, share: int, limit: int, back: list[int], reopened: bool
) -> None:
    """What waits in a worker is not in a checkpoint: it must be read again."""
    reader = ScriptedReader([record(o, m) for o, m in enumerate(order)], 8, share)
    reading = follower(reader, lateness, records=limit)
    out: list[int] = []
    checkpoints = [(reading.place.value, 0)]
    for turns_back in [*back, 0, 0, 0, 0, 0, 0, 0, 0, 0]:
        out += reading.turn()
        checkpoints.append((reading.place.value, len(out)))
        if turns_back:
            del checkpoints[max(1, len(checkpoints) - turns_back) :]
            reading.place.value, out = checkpoints[-1][0], out[: checkpoints[-1][1]]
            if reopened:
                reading.source.teardown()
    reader.more, reader.records = True, [*reader.records, record(8, 1_000), record(9, 2_000)]
    for _ in range(30):
        out += reading.turn()
    waiting = {9} if lateness else set()
    assert (set(out), reading.next_offset) == (set(range(10)) - waiting, 9 if lateness else 10)


def test_a_broker_that_is_away_delays_a_turn_and_loses_nothing() -> None:
    reader = ScriptedReader([record(o) for o in range(3)], 3, fails=True)
    reading = follower(reader)
    assert [reading.turn(), reading.turn(), reading.next_offset] == [[], [], 0]
    reader.fails = False
    assert reading.turn() == [0, 1, 2]


def test_a_worker_that_gets_a_partition_back_forgets_what_it_held(  # another read it meanwhile
) -> None:
    reader = ScriptedReader([record(o, m) for o, m in enumerate((5, 1, 2, 3))], 4, 1, more=True)
    first = follower(reader, lateness_s=600.0)
    assert first.turn() == []  # all four wait here
    source = FollowPartitions(lambda _: reader, UNHELD, ReadLimits())
    second = Follower(source, first.place, first.due)
    second.place.value = OFFSET_AND_MARK.pack(0, 0)
    assert (second.turn(), first.turn(), first.next_offset) == ([0, 1, 2, 3], [], 4)


def test_a_partition_that_is_listed_again_goes_on_where_it_was() -> None:
    reading = follower(ScriptedReader([record(o) for o in range(3)], 3, share=2), records=2)
    assert reading.turn() == [0, 1]
    reading.begin()
    assert reading.turn() == [2]


@pytest.mark.parametrize(
    "payload",
    [b"", b"{}", b'{"observed_at": 17}', b'{"observed_at": "2025-06-01T12:00:00.000000"}',
     b'{"observed_at": "2025-99-01T12:00:00.000Z"}',
     b'{"documents":[{"text":"\\"observed_at\\":\\"2999-01-01T00:00:00.000Z\\""}]}'],
)  # fmt: skip
def test_what_says_no_time_is_passed_on_at_once(payload: bytes) -> None:
    assert event_time(payload) is None
    reader = ScriptedReader([logged(payload, 0)], 1, more=True)
    assert follower(reader, lateness_s=600.0).turn() == [0]


@given(st.datetimes(timezones=st.just(UTC)).map(lambda t: t.replace(microsecond=0)))
def test_event_times_are_those_of_the_wire_format(time: datetime) -> None:
    assert event_time(encode(make_snapshot(["a page"], observed_at=time))) == time


def test_readers_are_kept_between_turns_and_closed_at_the_end() -> None:
    reader, opened = ScriptedReader([record(o) for o in range(4)], 4), list[int]()
    source = FollowPartitions(lambda p: opened.append(p) or reader, UNHELD, ReadLimits(records=1))
    reading = Follower(source)
    reading.begin()
    for _ in range(5):
        reading.turn()
    source.teardown()
    assert (opened, reader.closed) == ([0], True)
