"""Read one topic as a bystander: nothing is committed unless asked, and reading can end.

with follow(options, "snapshots.deadletter", stop_at_end=True) as records:
    for record in records:
        ...
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Literal, Self

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from connectors.kafka.clients import POLL_RECORDS, broker_errors, open_consumer
from connectors.kafka.options import KafkaOptions
from schemas.errors import BrokerError, ConfigurationError

Start = Literal["earliest", "latest", "committed"]
POLL_S = 0.5
CLOSE_MS = 2_000


@dataclass(frozen=True, slots=True)
class FollowedRecord:
    """One record as the broker gave it; everything in it is untrusted.

    `value` is None for a tombstone. `timestamp` is when it was written, aware and UTC, not event
    time. Of headers with the same name the last one counts.
    """

    partition: int
    offset: int
    timestamp: datetime
    key: bytes | None
    headers: dict[str, bytes]
    value: bytes | None


@contextmanager
def follow(
    options: KafkaOptions,
    topic: str,
    *,
    start: Start = "earliest",
    group: str | None = None,
    stop_at_end: bool = False,
    wait_s: float | None = None,
) -> Iterator["Follower"]:
    """Iterate over the records of all partitions of `topic` (named without the prefix).

    Records come in order within a partition. `start`: the "earliest" kept record, the "latest"
    end of each partition, or what `group` has "committed" (earliest where it has not).
    `stop_at_end` ends the iteration once every partition was read up to the end it had when that
    end was first seen; otherwise it goes on for ever. With `wait_s`, None is yielded whenever
    nothing came for that many seconds, so that the caller can look at the clock or stop.
    Raises BrokerError, also for a topic that does not exist, and ConfigurationError.
    """
    if start == "committed" and group is None:
        raise ConfigurationError("reading on from what was committed needs the group's name")
    consumer = open_consumer(options, group=group, max_records=POLL_RECORDS)
    try:
        yield Follower(consumer, options, topic, start, stop_at_end=stop_at_end, wait_s=wait_s)
    finally:
        with suppress(KafkaError, OSError):
            consumer.close(autocommit=False, timeout_ms=CLOSE_MS)


class Follower:
    """The iterator that `follow` gives."""

    def __init__(
        self,
        consumer: KafkaConsumer,
        options: KafkaOptions,
        topic: str,
        start: Start,
        *,
        stop_at_end: bool,
        wait_s: float | None,
    ) -> None:
        self._consumer = consumer
        self._topic = options.topic(topic)
        self._stop_at_end = stop_at_end
        self._wait_s = wait_s
        self._patience_s = 2 * options.request_timeout_s
        self._fetched: deque[Any] = deque()
        self._ends: dict[TopicPartition, int] = {}
        self._heard = self._told = monotonic()
        with self._errors():
            partitions = consumer.partitions_for_topic(self._topic)
            if not partitions:
                raise BrokerError(f"there is no topic {self._topic}: radarstream topics create")
            self._places = [TopicPartition(self._topic, p) for p in sorted(partitions)]
            consumer.assign(self._places)
            if start == "earliest":
                consumer.seek_to_beginning(*self._places)
            elif start == "latest":
                self._seek_to_end()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> FollowedRecord | None:
        with self._errors():
            while not self._fetched:
                if self._at_end():
                    raise StopIteration
                if self._wait_s is not None and monotonic() - self._told >= self._wait_s:
                    self._told = monotonic()
                    return None
                self._fetch(POLL_S if self._wait_s is None else min(POLL_S, self._wait_s))
        self._told = monotonic()
        return _followed(self._fetched.popleft())

    def commit(self, record: FollowedRecord) -> None:
        """Remember for the group that its partition is done up to and with this record."""
        place = TopicPartition(self._topic, record.partition)
        with self._errors():
            self._consumer.commit({place: OffsetAndMetadata(record.offset + 1, "", -1)})

    def _errors(self) -> Any:
        return broker_errors(f"read {self._topic}")

    def _fetch(self, wait_s: float) -> None:
        batches = self._consumer.poll(timeout_ms=int(wait_s * 1000))
        for records in batches.values():
            self._fetched.extend(records)
        for place in self._places:
            end = self._consumer.highwater(place)
            if end is not None:
                self._ends.setdefault(place, end)
        if batches:
            self._heard = monotonic()

    def _at_end(self) -> bool:
        """Whether all was read; raises BrokerError when that is not known for too long."""
        if not self._stop_at_end:
            return False
        if len(self._ends) == len(self._places) and all(
            (self._consumer.position(place, timeout_ms=0) or 0) >= end
            for place, end in self._ends.items()
        ):
            return True
        if monotonic() - self._heard > self._patience_s:
            raise BrokerError(f"cannot read {self._topic}: no answer for {self._patience_s:.0f} s")
        return False

    def _seek_to_end(self) -> None:
        """Go to the end that an answer tells; what a broker lists as the end may be too low."""
        self._consumer.seek_to_end(*self._places)
        deadline = monotonic() + self._patience_s
        while len(self._ends) < len(self._places):
            if monotonic() > deadline:
                raise BrokerError(f"cannot find the end of {self._topic}")
            self._fetch(POLL_S)
        self._fetched.clear()
        for place, end in self._ends.items():
            self._consumer.seek(place, end)


def _followed(record: Any) -> FollowedRecord:
    return FollowedRecord(
        partition=record.partition,
        offset=record.offset,
        timestamp=datetime.fromtimestamp(max(record.timestamp, 0) / 1000, UTC),
        key=record.key,
        headers={name: value or b"" for name, value in record.headers},
        value=record.value,
    )
