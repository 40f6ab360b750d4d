"""Reading Kafka partitions as a splittable DoFn, in pure Python.

The restriction of a partition is its range of offsets. Portable runners do not ask a step to pause,
so reading pauses by itself after some records, bytes or seconds; what is left comes back as a new
restriction, which the runner keeps in its checkpoint. Nothing else decides where to read on: what
is committed to the consumer group is for whoever watches the lag.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

import apache_beam as beam
from apache_beam.io.iobase import WatermarkEstimator
from apache_beam.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
from apache_beam.io.watermark_estimators import ManualWatermarkEstimator
from apache_beam.transforms.core import RestrictionProvider, WatermarkEstimatorProvider
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import MIN_TIMESTAMP, Timestamp

from radarstream.connectors.kafka.partition_reader import KafkaPartition
from radarstream.schemas.codec.event_time import event_time
from radarstream.schemas.records import RawRecord

FOLLOWING_S = 0.02  # between one batch of the broker and the next
NO_END = sys.maxsize  # larger than any offset


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """Offsets `start` to `stop` of one partition; `stop` None for a job that goes on."""

    partition: int
    start: int
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """When reading pauses. `idle_s` is how far the watermark of a quiet partition lags the clock.

    Event times of what is still on its way to a quiet partition are expected to be younger than
    that; what is older is late.
    """

    records: int = 256
    record_bytes: int = 32 * 2**20
    seconds: float = 1.0
    idle_s: float = 5.0


class OffsetTracker(OffsetRestrictionTracker):
    """Claims offsets; a range without end can be paused, but not cut into shares."""

    def __init__(self, offsets: OffsetRange) -> None:
        super().__init__(offsets)
        self.endless = offsets.stop == NO_END  # also of what remains once it has paused

    def try_split(self, fraction_of_remainder: float) -> tuple[OffsetRange, OffsetRange] | None:
        """Split what is left off."""
        if self.endless and fraction_of_remainder != 0:
            return None
        split: tuple[OffsetRange, OffsetRange] | None = super().try_split(  # type: ignore[no-untyped-call]
            fraction_of_remainder
        )
        return split

    def is_bounded(self) -> bool:
        """Whether the range has an end."""
        return not self.endless


class OffsetRanges(RestrictionProvider):
    """A partition's range of offsets."""

    def initial_restriction(self, element: PartitionRange) -> OffsetRange:
        """All that is to be read."""
        stop = NO_END if element.stop is None else max(element.start, element.stop)
        return OffsetRange(element.start, stop)

    def create_tracker(self, restriction: OffsetRange) -> OffsetTracker:
        """Track claims within a range."""
        return OffsetTracker(restriction)

    def restriction_size(self, element: PartitionRange, restriction: OffsetRange) -> int:  # noqa: ARG002
        """How much is left; nobody knows how much of a range without end is there yet."""
        return 1 if restriction.stop == NO_END else int(restriction.size())


class ReadingWatermarks(WatermarkEstimatorProvider):
    """A partition's watermark: starts at the beginning of time, survives pauses."""

    def initial_estimator_state(
        self,
        element: PartitionRange,  # noqa: ARG002 the base class passes it
        restriction: OffsetRange,  # noqa: ARG002 the base class passes it
    ) -> Timestamp:
        """Nothing is known yet."""
        return MIN_TIMESTAMP

    def create_watermark_estimator(self, estimator_state: Timestamp) -> WatermarkEstimator:
        """Go on where the partition paused."""
        return ManualWatermarkEstimator(estimator_state)


RANGE = beam.DoFn.RestrictionParam(OffsetRanges())
WATERMARK = beam.DoFn.WatermarkEstimatorParam(ReadingWatermarks())


def utc_now() -> datetime:
    """Return the wall clock."""
    return datetime.now(UTC)


class ReadPartitions(beam.DoFn):
    """PartitionRange -> RawRecords, in the order of offsets, at their event times.

    The watermark of a partition is the newest event time read from it, never beyond the clock: a
    snapshot from the future must not make all others late. In a partition without new records it
    follows the clock, `idle_s` behind, so that one quiet partition does not hold back the job.
    """

    def __init__(
        self,
        open_reader: Callable[[int], KafkaPartition],
        limits: ReadLimits = ReadLimits(),  # noqa: B008 frozen
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.open_reader = open_reader
        self.limits = limits
        self.now = now
        self.readers: dict[int, KafkaPartition] = {}

    @beam.DoFn.unbounded_per_element()  # type: ignore[untyped-decorator]
    def process(
        self, element: PartitionRange, tracker: Any = RANGE, watermark: Any = WATERMARK
    ) -> Iterator["TimestampedValue[RawRecord]"]:
        """Read on until a limit is reached, then leave the rest for later."""
        restriction = tracker.current_restriction()
        if restriction.start >= restriction.stop:
            return
        reader = self.reader_at(element.partition, restriction.start)
        meter = _Meter(self.limits)
        while not meter.full():
            records = reader.poll(max_records=meter.room(), timeout_s=meter.patience())
            for record in records:
                if not tracker.try_claim(record.position):
                    return
                yield TimestampedValue(record, self.observed(record, watermark))
                meter.add(record)
                if meter.full():
                    break
            else:
                # Offsets may end in a gap: the claim fails, and tells that the range is done.
                if reader.position() >= restriction.stop:
                    tracker.try_claim(reader.position())
                    return
                if reader.drained():
                    self.follow_clock(watermark)
            if not records and meter.records:
                break  # nothing more for now: let what was read go on
        tracker.defer_remainder()

    def reader_at(self, partition: int, offset: int) -> KafkaPartition:
        """Return the partition's reader, at an offset below which everything has been read."""
        reader = self.readers.get(partition)
        if reader is None:
            reader = self.readers[partition] = self.open_reader(partition)
            reader.seek(offset)
        elif reader.position() != offset:
            reader.seek(offset)
        reader.remember(offset)
        return reader

    def observed(self, record: RawRecord, watermark: Any) -> Timestamp:
        """Return the record's event time and move the watermark up to it."""
        time = event_time(record.payload)
        if time is None:  # it will become a dead letter, whose order does not matter
            current: Timestamp = watermark.current_watermark()
            return current
        raise_to(watermark, min(time, self.now()))
        moment: Timestamp = Timestamp.from_utc_datetime(time.astimezone(UTC))
        return moment

    def follow_clock(self, watermark: Any) -> None:
        """Move the watermark of a partition in which nothing is left to read."""
        raise_to(watermark, self.now() - timedelta(seconds=self.limits.idle_s))

    def teardown(self) -> None:
        """Close the connections."""
        while self.readers:
            _, reader = self.readers.popitem()
            reader.close()


class _Meter:
    """Counts what one turn has read."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self.records = 0
        self.bytes = 0
        self.started = perf_counter()

    def add(self, record: RawRecord) -> None:
        self.records += 1
        self.bytes += len(record.payload)

    def room(self) -> int:
        return self.limits.records - self.records

    def full(self) -> bool:
        return (
            self.room() <= 0 or self.bytes >= self.limits.record_bytes or self.seconds_left() <= 0.0
        )

    def seconds_left(self) -> float:
        return self.limits.seconds - (perf_counter() - self.started)

    def patience(self) -> float:
        """How long the next poll may wait: not for company once there is something to pass on."""
        return min(self.seconds_left(), FOLLOWING_S) if self.records else self.seconds_left()


def raise_to(watermark: Any, time: datetime) -> None:
    """Move a watermark up; it never goes back."""
    moved = Timestamp.from_utc_datetime(time.astimezone(UTC))
    if moved > watermark.current_watermark():
        watermark.set_watermark(moved)
