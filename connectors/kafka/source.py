"""Reads the log of snapshots from the last commit: records with their places."""

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import inf
from queue import Empty, SimpleQueue
from threading import Event
from time import monotonic
from typing import Any, Literal

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.errors import CommitFailedError, FencedInstanceIdError, RebalanceInProgressError

from radarstream.connectors.kafka.batches import first_offset
from radarstream.connectors.kafka.clients import (
    POLL_RECORDS,
    Reader,
    broker_errors,
    leave_group,
    patient_poll,
)
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.records import log_epoch, raw_record
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.records import RawRecord

SNAPSHOTS = "search.snapshots"
NoteOffsets = Callable[[Mapping[tuple[str, int], int]], None]  # offsets by log epoch and partition
logger = logging.getLogger(__name__)


def ignored(_: Mapping[tuple[str, int], int]) -> None:
    """Ignore offsets: only the broker keeps them."""


class Membership(ConsumerRebalanceListener):  # type: ignore[misc]
    """Passes assignments of partitions from the client's thread to the thread that polls.

    A revocation commits nothing: the next owner reads uncommitted records again and folds none
    twice.
    """

    def __init__(self) -> None:
        self._revoked: SimpleQueue[int] = SimpleQueue()
        self._joined = Event()

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Note revoked partitions; called before each join, also after a removal by the group."""
        self._joined.clear()
        for place in revoked:
            self._revoked.put(place.partition)

    def on_partitions_assigned(self, _assigned: Collection[TopicPartition]) -> None:
        """Note that the assignment is complete."""
        self._joined.set()

    def joining(self) -> bool:
        """Whether an assignment is going on."""
        return not self._joined.is_set()

    def taken(self) -> set[int]:
        """Return the partitions revoked since the last call."""
        partitions = set()
        with suppress(Empty):
            while True:
                partitions.add(self._revoked.get_nowait())
        return partitions


class KafkaLog(Reader):
    """Reads the snapshot topic by partition.

    With `membership` "assign", this worker reads all partitions or the given ones; two workers with
    the same partition repeat each other's work without harm. With "group", the broker divides the
    partitions among the workers.

    Connects on the first poll, and again after an error. Then it continues with "assign" at the
    next record that it had not returned, with "group" at the last commit. It calls `note` with
    offsets before a commit, and `insist` with the group's commits of newly assigned partitions.
    """

    def __init__(
        self,
        options: KafkaOptions,
        *,
        membership: Literal["assign", "group"] = "assign",
        partitions: Collection[int] = (),
        note: NoteOffsets = ignored,
        insist: NoteOffsets = ignored,
    ) -> None:
        if partitions and membership == "group":
            raise ConfigurationError("in a group the broker gives the partitions: name none")
        super().__init__(options)
        self._topic = options.topic(SNAPSHOTS)
        self._note, self._insist = note, insist
        self._wanted = frozenset(partitions)
        self._in_group = membership == "group"
        self._member = False  # stays true after an error, unless another worker has our name
        self._epoch = ""
        self._partitions: frozenset[int] = frozenset()
        self._next: dict[int, int] = {}  # by partition, the first offset not yet returned
        self._fetched: deque[Any] = deque()  # decoded, not yet returned
        self._membership = Membership()
        self._unread: dict[int, int] = {}

    def poll(self, *, max_records: int, max_bytes: int, timeout_s: float) -> list[RawRecord]:
        """Return new records as soon as there are some, none after the time-out.

        Offsets ascend within a partition. Raises BrokerError if the broker fails or does not
        answer, ConfigurationError if a given partition does not exist.
        """
        deadline = monotonic() + timeout_s
        with self._connected("read snapshots") as consumer:
            polled: list[Any] = []
            size = 0
            while len(polled) < max_records and size < max_bytes:
                if not self._fetched:
                    wait_s = 0.0 if polled else max(0.0, deadline - monotonic())
                    room = min(POLL_RECORDS, max_records - len(polled))
                    self._fetch(consumer, wait_s, room, polled)
                if not self._fetched:
                    break
                polled.append(self._fetched.popleft())
                size += len(polled[-1].value or b"")
            self._check(consumer, heard=bool(polled))
            self._advance(polled)
            self._count_unread(consumer)
        return [raw_record(r, self._epoch, self._options.message_bytes) for r in polled]

    def partitions(self) -> frozenset[int]:
        """Return the partitions being read; none before the first poll."""
        return self._partitions

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        """Commit where to continue after a restart, by partition. Raises BrokerError.

        Leaves out partitions that another worker has now, and offsets of an earlier log.
        """
        with self._connected("commit offsets") as consumer:
            held = {
                partition: offset
                for partition, offset in next_offsets.items()
                if partition in self._partitions and offset <= self._next.get(partition, 0)
            }
            if held:
                self._note({(self._epoch, p): offset for p, offset in held.items()})
                self._commit(consumer, self._topic, held)

    def unread(self) -> dict[int, int]:
        """Return the number of unread records by partition, as of the last poll."""
        return dict(self._unread)

    def close(self) -> None:
        """Disconnect; the other members of a group get the partitions at once."""
        self._disconnect()
        if self._member and self._options.worker:
            leave_group(self._options)
        self._member = False

    def _disconnect(self) -> None:
        self._fetched.clear()
        super().close()

    @contextmanager
    def _connected(self, action: str) -> Iterator[KafkaConsumer]:
        """Yield a consumer; after an error, also of `insist` and `note`, the next call connects a
        new one, because fetched records were lost.
        """
        try:
            if self._consumer is None:
                self._connect()
            with broker_errors(action):
                yield self._consumer
        except Exception as error:
            # After these errors the same consumer joins again in its next poll.
            if not isinstance(error.__cause__, (CommitFailedError, RebalanceInProgressError)):
                self._disconnect()
            if isinstance(error.__cause__, FencedInstanceIdError):
                self._member = False
            raise

    def _connect(self) -> None:
        worker = self._options.worker if self._in_group else ""
        consumer = self._open(self._options.group, worker)
        with broker_errors(f"find the partitions of {self._topic}"):
            existing = frozenset(p.partition for p in self._partitions_of(consumer, self._topic))
        self._note_epoch(log_epoch(consumer, self._topic))
        if self._in_group:
            self._partitions, self._next, self._unread = frozenset(), {}, {}
            self._membership = Membership()
            consumer.subscribe([self._topic], listener=self._membership)
            self._member = True
            return
        if missing := self._wanted - existing:
            raise ConfigurationError(f"{self._topic} has no partition {min(missing)}")
        self._partitions = self._wanted or existing
        consumer.assign([TopicPartition(self._topic, p) for p in sorted(self._partitions)])
        self._next = {p: offset for p, offset in self._next.items() if p in self._partitions}
        for partition, offset in self._next.items():
            consumer.seek(TopicPartition(self._topic, partition), offset)

    def _fetch(self, consumer: KafkaConsumer, wait_s: float, room: int, polled: list[Any]) -> None:
        """Fetch into `_fetched`, and drop records of partitions that were revoked meanwhile.

        A partition that is revoked and assigned again goes back to its last commit, because
        kafka-python would continue after the dropped records.
        """
        joining = self._membership.joining if self._in_group else bool
        batches = patient_poll(consumer, wait_s, room, joining)
        revoked = self._membership.taken()
        for partition in revoked:
            self._next.pop(partition, None)
            self._unread.pop(partition, None)
        polled[:] = [record for record in polled if record.partition not in revoked]
        if self._in_group:
            self._take_over(consumer, revoked)
        for place, records in batches.items():
            if place.partition not in revoked:
                self._fetched.extend(records)

    def _take_over(self, consumer: KafkaConsumer, revoked: Collection[int]) -> None:
        before = self._partitions.difference(revoked)
        self._partitions = frozenset(place.partition for place in consumer.assignment())
        taken = self._partitions - before
        if taken:
            self._insist({(self._epoch, p): self._committed(consumer, p) for p in taken})
        for partition in self._partitions.intersection(revoked):
            self._go_back(consumer, partition)

    def _check(self, consumer: KafkaConsumer, *, heard: bool) -> None:
        """Raise BrokerError if the log was created again, grew or does not answer."""
        some = TopicPartition(self._topic, min(self._partitions, default=0))
        self._check_answers(consumer, some, heard=heard)
        cut = [p for p in self._partitions if self._end(consumer, p) < self._next.get(p, 0)]
        for partition in cut:
            logger.warning("partition %d of %s was cut back", partition, self._topic)
            self._go_back(consumer, partition)
        existing = frozenset(consumer.partitions_for_topic(self._topic))
        grown = not self._in_group and not self._wanted and existing != self._partitions
        recreated = bool(cut) and not self._in_group  # a new connection reads the new epoch
        if grown or recreated or log_epoch(consumer, self._topic) != self._epoch:
            raise BrokerError(f"{self._topic} has changed: reading continues in a moment")

    def _go_back(self, consumer: KafkaConsumer, partition: int) -> None:
        """Continue at the last commit, or at the start if the partition ends before that."""
        committed = self._committed(consumer, partition)
        self._next[partition] = committed if committed <= self._end(consumer, partition) else 0
        consumer.seek(TopicPartition(self._topic, partition), self._next[partition])

    def _committed(self, consumer: KafkaConsumer, partition: int) -> int:
        place = TopicPartition(self._topic, partition)
        return int(consumer.committed(place, timeout_ms=self._timeout_ms) or 0)

    def _end(self, consumer: KafkaConsumer, partition: int) -> float:
        """Return the end in the last answer; `end_offsets` is not reliable on every broker."""
        end = consumer.highwater(TopicPartition(self._topic, partition))
        return inf if end is None else float(end)

    def _note_epoch(self, epoch: str) -> None:
        if self._epoch and epoch != self._epoch:
            logger.warning("topic %s was created anew; reading it from its start", self._topic)
            self._next = dict.fromkeys(self._next, 0)
            self._unread = {}
        self._epoch = epoch

    def _advance(self, polled: list[Any]) -> None:
        for record in polled:
            expected = self._next.get(record.partition, record.offset)
            if record.offset < expected:
                logger.warning(
                    "partition %d of %s was cut back from offset %d; reading on at %d",
                    *(record.partition, self._topic, expected, record.offset),
                )
            elif first_offset(record) > expected + 1:  # one may be a transaction's marker
                logger.warning(
                    "partition %d of %s holds no offsets %d to %d any more",
                    *(record.partition, self._topic, expected, first_offset(record) - 1),
                )
            self._next[record.partition] = record.offset + 1

    def _count_unread(self, consumer: KafkaConsumer) -> None:
        waiting: dict[int, int] = {}
        for record in self._fetched:
            waiting.setdefault(record.partition, record.offset)
        for partition in self._partitions:
            place = TopicPartition(self._topic, partition)
            end = self._end(consumer, partition)
            if end < inf:
                start = waiting.get(partition)
                if start is None:
                    start = consumer.position(place, timeout_ms=0)
                self._unread[partition] = 0 if start is None else max(0, int(end) - start)
