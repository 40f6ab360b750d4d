"""Reads whole topics, with or without commits for a group, and the offsets of partitions.

Partitions are assigned, not subscribed to: reading begins at once and disturbs no other member.
Partitions that are added later are read after the next start.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from kafka import KafkaConsumer, TopicPartition

from radarstream.connectors.kafka.batches import RefusedBatch
from radarstream.connectors.kafka.clients import Reader, broker_errors, patient_poll
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.records import log_epoch
from radarstream.connectors.kafka.source import SNAPSHOTS
from radarstream.schemas.errors import BrokerError, InputError
from radarstream.schemas.times import milliseconds, time_at

Start = Literal["beginning", "latest"] | datetime
LATEST_MS = 253_402_300_799_000  # the end of the year 9999; writers may set any timestamp


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One record as the broker sent it; all of it is untrusted.

    `topic` has no prefix; `timestamp` (UTC) is when the record was written. Of headers with the
    same name, the last one counts. `value` is None for a tombstone. With a `refusal`, `value` is an
    unreadable batch.
    """

    topic: str
    partition: int
    offset: int
    timestamp: datetime
    key: bytes
    headers: Mapping[str, bytes]
    value: bytes | None
    refusal: InputError | None = None

    def read(self) -> bytes:
        """Return the bytes to decode, b"" for a tombstone. Raises the refusal, if any."""
        if self.refusal is not None:
            raise self.refusal
        return self.value or b""


class TopicReader(Reader):
    """Reads all partitions of topics (named without the prefix), each in order.

    Without commits of a `group`, reading begins at `start`: the oldest record, the next new one, or
    the first one written at a time or later. Raises BrokerError, also for a topic that does not
    exist, and ConfigurationError.
    """

    silence_s = 3.0
    probe_ms = 2_000
    poll_records = 256

    def __init__(
        self,
        options: KafkaOptions,
        topics: Sequence[str],
        *,
        start: Start = "beginning",
        group: str | None = None,
    ) -> None:
        super().__init__(options)
        self._names = {options.topic(topic): topic for topic in topics}
        self._reading = self._open(group)
        try:
            with broker_errors(f"read {', '.join(topics)}"):
                self._partitions = [
                    place
                    for name in self._names
                    for place in self._partitions_of(self._reading, name)
                ]
                self._reading.assign(self._partitions)
                ends = self._reading.end_offsets(self._partitions)
                self._ends: dict[TopicPartition, int] = dict(ends)
                self._seen_end: set[TopicPartition] = set()
                self._seek(start, committing=group is not None)
        except BaseException:
            self.close()
            raise

    def poll(self, *, timeout_s: float) -> list[TopicRecord]:
        """Return the next records, none after the time-out.

        Raises BrokerError if the broker does not answer; the next poll continues after the last
        successful one.
        """
        with broker_errors("read on"):
            polled = patient_poll(self._reading, timeout_s)
            self._check_answers(self._reading, self._partitions[0], heard=bool(polled))
        return [self._record(record) for records in polled.values() for record in records]

    def at_end(self) -> bool:
        """Whether all records were polled that existed when the ends were first read."""
        with broker_errors("find the end"):
            for partition in self._partitions:
                highwater = self._reading.highwater(partition)
                if highwater is not None and partition not in self._seen_end:
                    self._seen_end.add(partition)  # brokers may report less before a fetch
                    self._ends[partition] = max(self._ends[partition], highwater)
                if self._position(partition) < self._ends[partition]:
                    return False
        return True

    def to_the_end(self) -> Iterator[TopicRecord]:
        """Yield all records up to the end."""
        while not self.at_end():
            yield from self.poll(timeout_s=1.0)

    def places(self) -> dict[int, int]:
        """Return the next offset of each partition, for a reader of a single topic."""
        with broker_errors("find the place"):
            return {p.partition: self._position(p) for p in self._partitions}

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        """Commit the group's next offsets, for a reader of a single topic."""
        with broker_errors("commit"):
            self._commit(self._reading, self._partitions[0].topic, next_offsets)

    def epoch(self) -> str:
        """Return the epoch of the log, for a reader of a single topic."""
        return log_epoch(self._reading, self._partitions[0].topic)

    def _seek(self, start: Start, *, committing: bool) -> None:
        for partition, place in self._places(start).items():
            committed = None
            if committing:
                committed = self._reading.committed(partition, timeout_ms=self._timeout_ms)
            self._reading.seek(partition, place if committed is None else committed)

    def _places(self, start: Start) -> dict[TopicPartition, int]:
        first: dict[TopicPartition, int] = dict(self._reading.beginning_offsets(self._partitions))
        if start == "beginning":
            return first
        if start == "latest":
            return self._ends
        written_ms = max(0, milliseconds(start))
        found = self._reading.offsets_for_times(dict.fromkeys(self._partitions, written_ms))
        return {p: found[p].offset if found.get(p) else self._ends[p] for p in self._partitions}

    def _position(self, partition: TopicPartition) -> int:
        place: int | None = self._reading.position(partition, timeout_ms=self._timeout_ms)
        if place is None:
            raise BrokerError(f"the next offset of {partition.topic} is unknown")
        return place

    def _record(self, record: Any) -> TopicRecord:
        written_ms = min(max(record.timestamp, 0), LATEST_MS)
        return TopicRecord(
            topic=self._names[record.topic],
            partition=record.partition,
            offset=record.offset,
            timestamp=time_at(written_ms),
            key=record.key or b"",
            headers={name: value or b"" for name, value in record.headers},
            value=record.value,
            refusal=record.value.refusal if isinstance(record.value, RefusedBatch) else None,
        )


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets of one partition: its first record, its end, and the group's commit.

    `committed` is None without a group or a commit. `epoch` is as in records.
    """

    first: int
    end: int
    committed: int | None = None
    epoch: str = field(default="", compare=False)

    @property
    def lag(self) -> int:
        """Number of records that the group has not committed."""
        start = self.first if self.committed is None else max(self.first, self.committed)
        return max(0, self.end - start)


class OffsetReader(Reader):
    """Reads the offsets of a topic (named without the prefix) over its own connection.

    It reads no records and joins no group. Connects on first use, and again after an error.
    """

    def __init__(
        self, options: KafkaOptions, *, topic: str = SNAPSHOTS, group: str | None = None
    ) -> None:
        super().__init__(options)
        self._topic = options.topic(topic)
        self._group = group

    def read(self) -> dict[int, Offsets]:
        """Return the present offsets by partition.

        Raises BrokerError, also if the topic does not exist, and ConfigurationError.
        """
        consumer = self._consumer or self._open(self._group)
        try:
            with broker_errors(f"find the offsets of {self._topic}"):
                return self._asked(consumer)
        except BaseException:
            self.close()
            raise

    def _asked(self, consumer: KafkaConsumer) -> dict[int, Offsets]:
        timeout_ms = self._timeout_ms
        places = self._partitions_of(consumer, self._topic)
        committed = {
            place: consumer.committed(place, timeout_ms=timeout_ms) if self._group else None
            for place in places
        }
        first = consumer.beginning_offsets(places, timeout_ms=timeout_ms)
        # The ends are read last, so that no commit is beyond them.
        end = consumer.end_offsets(places, timeout_ms=timeout_ms)
        epoch = log_epoch(consumer, self._topic)
        return {p.partition: Offsets(first[p], end[p], committed[p], epoch) for p in places}


def partition_offsets(
    options: KafkaOptions, *, topic: str = SNAPSHOTS, group: str | None = None
) -> dict[int, Offsets]:
    """Read the offsets of a topic once, as `OffsetReader.read`."""
    with OffsetReader(options, topic=topic, group=group) as reader:
        return reader.read()
