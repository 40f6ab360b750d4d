"""Reading Kafka partitions on a cluster, in pure Python.

A partition is a key; its state is how far it was read. A processing-time timer calls for the next
turn: poll, hold back what older records may precede, pass on the rest. Checkpoints hold two numbers
a partition and alone decide where to read on; commits to the group are for whoever watches the lag.
Flink's runner keeps a state for every pause of a splittable DoFn until apache/beam#39191
(apache/beam#27648), so there is none.
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
FOLLOWING_S = 0.02  # between one batch of the broker and the next
PAUSE_S = 0.1  # before the next turn of a partition that has nothing more
MARK_BITS = 48
OUTAGE_S = 1.0  # before the next turn when the broker did not answer
NEXT = TimerSpec("next", TimeDomain.REAL_TIME)
PLACE = ReadModifyWriteStateSpec("place", BytesCoder())
PLACE_STATE = beam.DoFn.StateParam(PLACE)
OFFSET_AND_MARK = Struct(">qq")  # where to read on, and the turn's mark: as long at any offset
NEXT_TURN = beam.DoFn.TimerParam(NEXT)


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """Offsets `start` to `stop` of one partition; `stop` None for a job that goes on."""

    partition: int
    start: int
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """When a turn ends."""

    records: int = 256
    record_bytes: int = 32 * 2**20
    seconds: float = 1.0


OpenReader = Callable[[int], KafkaPartition]
OpenHolding = Callable[[], HoldBack]


@dataclass
class Feed:
    """One partition on a worker, read up to `stop`, if given; `mark` is that of its last turn.
    Records come in the order of offsets, held-back ones after older ones.
    """

    reader: KafkaPartition
    holding: HoldBack
    limits: ReadLimits
    stop: int | None = None
    mark: int = -1  # that of no turn
    full: bool = field(default=False, init=False)  # the last turn ended at a limit

    def turn(self) -> list[RawRecord]:
        """Read until a limit is reached or nothing comes; returns what may go on."""
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
        """The next records before `stop`, or none."""
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
        """Whether everything before `stop` was read; there may be gaps between offsets."""
        return self.stop is not None and self.reader.position() >= self.stop

    @property
    def unread(self) -> int:
        """0 where the partition holds nothing more, as far as is known."""
        return 0 if self.at_end or self.reader.drained() else 1

    @property
    def waiting(self) -> bool:
        """Whether records are held back."""
        return bool(self.holding.held)

    @property
    def next_offset(self) -> int:
        """Where a restart must read on: never past a record that is held back."""
        waiting = self.holding.next_offsets().get(self.partition)
        return waiting if self.waiting and waiting is not None else self.reader.position()


class _PartitionDoFn(beam.DoFn):
    """Opens the partitions that a worker reads and closes them at its end."""

    def __init__(
        self, open_reader: OpenReader, open_holding: OpenHolding, limits: ReadLimits
    ) -> None:
        self.open_reader = open_reader
        self.open_holding = open_holding
        self.limits = limits
        self.feeds: dict[int, Feed] = {}

    def open_feed(self, partition: int, offset: int, stop: int | None = None) -> Feed:
        """Begin to read a partition at an offset, with nothing held back."""
        self.close_feed(partition)
        reader = self.open_reader(partition)
        reader.seek(offset)
        feed = self.feeds[partition] = Feed(reader, self.open_holding(), self.limits, stop)
        return feed

    def close_feed(self, partition: int) -> None:
        """Forget a partition and what was held back of it."""
        if feed := self.feeds.pop(partition, None):
            feed.reader.close()

    def teardown(self) -> None:
        """Close the connections."""
        for partition in list(self.feeds):
            self.close_feed(partition)


class ReadPartitions(_PartitionDoFn):
    """(partition, PartitionRange) -> its RawRecords up to `stop`, and no further."""

    def process(self, keyed: tuple[int, PartitionRange]) -> Iterator[RawRecord]:
        """Read one partition to its end. Raises BrokerError."""
        partition, asked = keyed
        feed = self.open_feed(partition, asked.start, asked.stop)
        while not feed.at_end or feed.waiting:
            yield from feed.turn()
            if feed.at_end and feed.waiting:
                sleep(PAUSE_S)  # for older ones
        feed.reader.remember(feed.next_offset)


class FollowPartitions(_PartitionDoFn):
    """(partition, PartitionRange) -> its RawRecords, for ever.

    Every turn leaves a mark in state and worker. A runner that goes back to an older checkpoint, or
    moves the partition, hands out another mark than the worker's: then reading begins anew at the
    state's offset, for what the worker holds back may have led elsewhere.
    """

    def process(
        self, keyed: tuple[int, PartitionRange], place: Any = PLACE_STATE, due: Any = NEXT_TURN
    ) -> None:
        """Begin a partition that no checkpoint knows."""
        if place.read() is None:
            place.write(OFFSET_AND_MARK.pack(keyed[1].start, 0))
        due.set(Timestamp.now())

    @on_timer(NEXT)
    def turn(
        self, partition: Any = beam.DoFn.KeyParam, place: Any = PLACE_STATE, due: Any = NEXT_TURN
    ) -> Iterator[RawRecord]:
        """Take one turn and ask for the next."""
        offset, mark = OFFSET_AND_MARK.unpack(place.read())
        try:
            feed = self.feed_at(partition, offset, mark)
            records = feed.turn()
        except BrokerError as error:  # it is tried again; the job goes on meanwhile
            log.warning("partition %d is not read: %s", partition, error)
            self.close_feed(partition)
            due.set(Timestamp.now() + OUTAGE_S)
            return
        feed.mark = 1 + getrandbits(MARK_BITS)
        place.write(OFFSET_AND_MARK.pack(feed.next_offset, feed.mark))
        due.set(Timestamp.now() + (0.0 if feed.full else PAUSE_S))
        yield from records

    def feed_at(self, partition: int, offset: int, mark: int) -> Feed:
        """Return the partition as the turn of this mark left it."""
        feed = self.feeds.get(partition)
        if feed is None or feed.mark != mark:
            feed = self.open_feed(partition, offset)
        feed.reader.remember(offset)
        return feed
