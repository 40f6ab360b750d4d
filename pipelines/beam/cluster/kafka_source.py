"""Reads Kafka partitions on a cluster, in pure Python.

A partition is a key; its state is its next offset. A processing-time timer starts each turn: poll,
hold back records that older ones may precede, emit the rest. Only checkpoints, with two numbers per
partition, decide where to continue; commits to the group are for monitoring. There is no splittable
DoFn, because Flink's runner keeps a state for each of its pauses until apache/beam#39191
(apache/beam#27648).
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import getrandbits
from struct import Struct
from time import perf_counter, sleep
from typing import Any

import apache_beam as beam
from apache_beam.coders import BytesCoder
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.utils.timestamp import Timestamp

from radarstream.connectors.kafka.partition_reader import KafkaPartition
from radarstream.pipelines.beam.holding import HoldBack
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import RawRecord

log = logging.getLogger(__name__)
FOLLOWING_S = 0.02  # timeout for the next batch of the broker within a turn
PAUSE_S = 0.1  # before the next turn of a partition without new records
MARK_BITS = 48
OUTAGE_S = 1.0  # before the next turn after a failure of the broker
NEXT = TimerSpec("next", TimeDomain.REAL_TIME)
PLACE = ReadModifyWriteStateSpec("place", BytesCoder())
PLACE_STATE = beam.DoFn.StateParam(PLACE)
OFFSET_AND_MARK = Struct(">qq")  # next offset and mark of the turn, in a fixed length
NEXT_TURN = beam.DoFn.TimerParam(NEXT)


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """Offsets `start` to `stop` of one partition; `stop` is None for an endless job."""

    partition: int
    start: int
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of a turn."""

    records: int = 256
    record_bytes: int = 32 * 2**20
    seconds: float = 1.0


OpenReader = Callable[[int], KafkaPartition]
OpenHolding = Callable[[], HoldBack]


@dataclass
class Feed:
    """One partition on a worker, read up to `stop`, if given; `mark` is that of its last turn."""

    reader: KafkaPartition
    holding: HoldBack
    limits: ReadLimits
    stop: int | None = None
    mark: int = -1  # no turn yet
    full: bool = field(default=False, init=False)  # whether the last turn ended at a limit

    def turn(self) -> list[RawRecord]:
        """Read up to a limit or until no record comes; return the records to fold."""
        self.full = False
        taken = 0
        started, ripe = perf_counter(), list[RawRecord]()
        while True:
            records = self.poll()
            ripe += self.holding.take(records, perf_counter(), {self.partition: self.unread})
            taken += sum(len(record.payload) for record in records)
            spent = perf_counter() - started >= self.limits.seconds
            if not records or len(ripe) >= self.limits.records:
                break
            if spent or taken >= self.limits.record_bytes:
                break
        self.full = bool(records)
        return ripe

    def poll(self) -> list[RawRecord]:
        """Return the next records before `stop`."""
        if self.at_end:
            return []
        records = self.reader.poll(max_records=self.limits.records, timeout_s=FOLLOWING_S)
        return [record for record in records if self.stop is None or record.position < self.stop]

    @property
    def partition(self) -> int:
        """The number of the partition."""
        return self.reader.partition

    @property
    def at_end(self) -> bool:
        """Whether all records before `stop` were read; offsets may have gaps."""
        return self.stop is not None and self.reader.position() >= self.stop

    @property
    def unread(self) -> int:
        """0 if no further record is known, else 1."""
        return 0 if self.at_end or self.reader.drained() else 1

    @property
    def waiting(self) -> bool:
        """Whether records are held back."""
        return bool(self.holding.held)

    @property
    def next_offset(self) -> int:
        """Where a restart continues: at the first record that is held back, if any."""
        waiting = self.holding.next_offsets().get(self.partition)
        return waiting if self.waiting and waiting is not None else self.reader.position()


class _PartitionDoFn(beam.DoFn):
    """Opens the partitions of a worker, and closes them at its end."""

    def __init__(
        self, open_reader: OpenReader, open_holding: OpenHolding, limits: ReadLimits
    ) -> None:
        self.open_reader = open_reader
        self.open_holding = open_holding
        self.limits = limits
        self.feeds: dict[int, Feed] = {}

    def open_feed(self, partition: int, offset: int, stop: int | None = None) -> Feed:
        """Start reading a partition at an offset."""
        self.close_feed(partition)
        reader = self.open_reader(partition)
        reader.seek(offset)
        feed = self.feeds[partition] = Feed(reader, self.open_holding(), self.limits, stop)
        return feed

    def close_feed(self, partition: int) -> None:
        """Close a partition and drop its held-back records."""
        if feed := self.feeds.pop(partition, None):
            feed.reader.close()

    def teardown(self) -> None:
        """Close the connections."""
        for partition in list(self.feeds):
            self.close_feed(partition)


class ReadPartitions(_PartitionDoFn):
    """(partition, PartitionRange) -> its RawRecords up to `stop`."""

    def process(self, keyed: tuple[int, PartitionRange]) -> Iterator[RawRecord]:
        """Read one partition to its end. Raises BrokerError."""
        partition, asked = keyed
        feed = self.open_feed(partition, asked.start, asked.stop)
        while not feed.at_end or feed.waiting:
            yield from feed.turn()
            if feed.at_end and feed.waiting:
                sleep(PAUSE_S)  # until the held-back records are released
        feed.reader.remember(feed.next_offset)


class FollowPartitions(_PartitionDoFn):
    """(partition, PartitionRange) -> its RawRecords, for ever.

    Every turn writes a mark to the state and to the worker. After a return to an older checkpoint,
    or a move of the partition, the marks differ; then reading starts again at the state's offset.
    """

    def process(
        self, keyed: tuple[int, PartitionRange], place: Any = PLACE_STATE, due: Any = NEXT_TURN
    ) -> None:
        """Start a partition, unless a checkpoint has its state."""
        if place.read() is None:
            place.write(OFFSET_AND_MARK.pack(keyed[1].start, 0))
        due.set(Timestamp.now())

    @on_timer(NEXT)
    def turn(
        self, partition: Any = beam.DoFn.KeyParam, place: Any = PLACE_STATE, due: Any = NEXT_TURN
    ) -> Iterator[RawRecord]:
        """Take one turn and schedule the next."""
        offset, mark = OFFSET_AND_MARK.unpack(place.read())
        try:
            feed = self.feed_at(partition, offset, mark)
            records = feed.turn()
        except BrokerError as error:  # the next turn tries again
            log.warning("partition %d is not read: %s", partition, error)
            self.close_feed(partition)
            due.set(Timestamp.now() + OUTAGE_S)
            return
        feed.mark = 1 + getrandbits(MARK_BITS)
        place.write(OFFSET_AND_MARK.pack(feed.next_offset, feed.mark))
        due.set(Timestamp.now() + (0.0 if feed.full else PAUSE_S))
        yield from records

    def feed_at(self, partition: int, offset: int, mark: int) -> Feed:
        """Return the open feed with this mark, or a new one at the offset."""
        feed = self.feeds.get(partition)
        if feed is None or feed.mark != mark:
            feed = self.open_feed(partition, offset)
        feed.reader.remember(offset)
        return feed
