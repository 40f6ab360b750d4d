"""Reads one partition of the snapshot topic for a caller that keeps the offsets itself."""

from contextlib import suppress
from typing import Any

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from radarstream.connectors.kafka.clients import POLL_RECORDS, Reader, broker_errors, patient_poll
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.records import log_epoch, raw_record
from radarstream.connectors.kafka.source import SNAPSHOTS, NoteOffsets, ignored
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import RawRecord


class KafkaPartition(Reader):
    """Reads from the offset of `seek`. Connects on the first poll.

    The commits of `group` only show others the progress. Give it a name that no job has, because
    they may be ahead of what has been folded.
    """

    def __init__(
        self, options: KafkaOptions, partition: int, *, group: str, note: NoteOffsets = ignored
    ) -> None:
        super().__init__(options)
        self._place = TopicPartition(options.topic(SNAPSHOTS), partition)
        self._group, self._note = group, note
        self._epoch = ""
        self._next = 0
        self._drained = False
        self._remembered = -1

    @property
    def partition(self) -> int:
        """The number of the partition."""
        return int(self._place.partition)

    def seek(self, offset: int) -> None:
        """Continue at `offset`."""
        self._next = offset
        self._drained = False
        if self._consumer is not None:
            self._consumer.seek(self._place, offset)

    def poll(self, *, max_records: int, timeout_s: float) -> list[RawRecord]:
        """Return the next records, none after the time-out.

        Raises BrokerError, and ConfigurationError if the partition ends before offsets that were
        read earlier, so that it is another log now.
        """
        consumer = self._connected()
        with broker_errors("read snapshots"):
            limit = min(POLL_RECORDS, max_records)
            batches = patient_poll(consumer, timeout_s, limit)
            records = batches.get(self._place, [])
            self._check(consumer, records)
            self._advance(consumer)
        return [raw_record(r, self._epoch, self._options.message_bytes) for r in records]

    def position(self) -> int:
        """Return the offset to read next; offsets may have gaps."""
        return self._next

    def drained(self) -> bool:
        """Whether the last poll saw the end of the partition."""
        return self._drained

    def remember(self, next_offset: int) -> None:
        """Report the progress to `note` and the consumer group, ignoring errors of the broker."""
        if self._consumer is None or next_offset <= self._remembered:
            return
        self._remembered = next_offset
        self._note({(self._epoch, self.partition): next_offset})
        with suppress(KafkaError, OSError):
            self._consumer.commit_async({self._place: OffsetAndMetadata(next_offset, "", -1)})

    def _connected(self) -> KafkaConsumer:
        if self._consumer is None:
            consumer = self._open(self._group)
            with broker_errors(f"read {self._place.topic}"):
                self._partitions_of(consumer, self._place.topic)
                self._epoch = log_epoch(consumer, self._place.topic)
                consumer.assign([self._place])
                consumer.seek(self._place, self._next)
        return self._consumer

    def _check(self, consumer: KafkaConsumer, records: list[Any]) -> None:
        moved_back = bool(records) and records[0].offset < self._next
        if moved_back or log_epoch(consumer, self._place.topic) != self._epoch:
            raise ConfigurationError(
                f"partition {self._place.partition} of {self._place.topic} was created anew or cut "
                f"back below offset {self._next}: submit the job afresh, without a savepoint"
            )
        self._check_answers(consumer, self._place, heard=bool(records))

    def _advance(self, consumer: KafkaConsumer) -> None:
        position = consumer.position(self._place, timeout_ms=0)
        if position is not None:
            self._next = max(self._next, position)
        end = consumer.highwater(self._place)  # end_offsets is not right on every broker
        self._drained = end is not None and self._next >= end
