"""Batches of records that can neither exhaust a consumer's memory nor stop its partition.

kafka-python decompresses a batch whole, however large it becomes, and ends in an error at a batch
that is damaged, each time it is read again. Here a batch is decompressed up to a limit. From one
that cannot be read on, one record comes in place of all that is left of it: its value is a
`RefusedBatch`, and its offset the last one of the batch, so that reading goes on behind it.
"""

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord, Fetcher
from kafka.errors import CorruptRecordError, KafkaError
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.util import decode_varint

from radarstream.connectors.kafka.decompression import decompressed, too_large
from radarstream.schemas.errors import InputError, ReasonClass

POLL_BYTES = 32 * 2**20  # a poll takes no further record once it has so much
HEADERS = 256  # of a record; each takes 2 bytes in a batch and a hundred in memory
FORMAT = 2  # of batches; brokers have stored no other since Kafka 0.11
CHECKSUM = "a wrong checksum, twice"
BROKEN = (InputError, CorruptRecordError, struct.error)  # nothing that a defect of ours would raise


class RefusedBatch(bytes):
    """A batch as the broker stores it, the offsets it stands for, and why it cannot be read."""

    first: int
    last: int
    refusal: InputError


def guard(consumer: KafkaConsumer, most: int) -> None:
    """Have a new consumer decompress at most `most` bytes of a batch, and refuse what is broken."""
    fetcher = consumer._fetcher  # the client has no public way to take part in decoding
    fetcher.PartitionRecords = partial(GuardedRecords, most=most, suspects=set())
    fetcher.fetched_records = partial(few_bytes, fetcher.fetched_records)


def few_bytes(
    fetched_records: Callable[..., tuple[dict[TopicPartition, list[Any]], bool]],
    max_records: int,
    update_offsets: bool = True,
) -> tuple[dict[TopicPartition, list[Any]], bool]:
    """Fetch as the client does, and stop early once the records take `POLL_BYTES`.

    An error after the first record is dropped: it comes from the broker, which repeats it.
    """
    drained: dict[TopicPartition, list[Any]] = {}
    size, unparsed = 0, False
    for _ in range(max_records):
        try:
            records, unparsed = fetched_records(1, update_offsets=update_offsets)
        except KafkaError:
            if not drained:
                raise
            break
        if not records:
            break
        for place, found in records.items():
            drained.setdefault(place, []).extend(found)
            size += sum(len(record.value or b"") for record in found)
        if size >= POLL_BYTES:
            return drained, True  # ask for nothing new: there may be more of this answer
    return drained, unparsed


class GuardedBatch(DefaultRecordBatch):  # type: ignore[misc]
    """A batch that decompresses up to `most` bytes and checks its records one by one.

    `reached` is the first offset that was not read.
    """

    _buffer: bytearray
    _pos: int
    _decompressed: bool

    def __init__(self, stored: bytes, most: int) -> None:
        super().__init__(stored)
        self.most = most
        self.reached = self.base_offset

    def _maybe_uncompress(self) -> None:
        if not self._decompressed:
            records = memoryview(self._buffer)[self._pos :]
            if len(records) > self.most:
                raise too_large(self.most)
            if self.compression_type:
                data = decompressed(self.compression_type, bytes(records), self.most)
                self._buffer, self._pos = bytearray(data), 0
        self._decompressed = True

    def _read_msg(self) -> Any:
        self._check_headers()
        record = super()._read_msg()
        if not self.is_control_batch:
            if not self.reached <= record.offset <= self.last_offset:
                raise damaged("an offset outside the batch, or out of order")
            self.reached = record.offset + 1
        return record

    def _check_headers(self) -> None:
        buffer, place = self._buffer, self._pos
        for _ in ("length", "attributes", "timestamp", "offset"):
            _, place = decode_varint(buffer, place)
        for _ in ("key", "value"):
            size, place = decode_varint(buffer, place)
            place += max(0, size)
        headers, _ = decode_varint(buffer, place)
        if headers > HEADERS:
            raise InputError(ReasonClass.OVERSIZED_RECORD, f"a record with over {HEADERS} headers")


class GuardedBatches:
    """The batches of one fetch, each checked before it is opened.

    `suspects` are the batches of which a wrong checksum was seen once.
    """

    def __init__(self, batches: Any, place: TopicPartition, most: int, suspects: set[Any]) -> None:
        self._batches = batches
        self._place = place
        self._most = most
        self._suspects = suspects
        self._stored: Any = None  # the batch at hand as it came
        self._opened: GuardedBatch | None = None  # the same, if its checksum is right

    def next_batch(self) -> GuardedBatch | None:
        """Return the next batch, None at the end or before one that must be fetched again.

        A checksum may have become wrong on the way: only the second time the batch is damaged.
        """
        self._stored, self._opened = None, None
        stored = self._stored = self._batches.next_batch()
        if stored is None:
            return None
        if stored.magic != FORMAT:
            raise damaged(f"batch format {stored.magic}, not the one of Kafka since 0.11")
        suspect = (self._place, stored.base_offset)
        if not stored.validate_crc():
            if suspect in self._suspects:
                raise damaged(CHECKSUM)
            self._suspects.add(suspect)
            return None
        self._suspects.discard(suspect)
        self._opened = GuardedBatch(stored._buffer, self._most)
        return self._opened

    def refused(self, error: Exception, following: int) -> RefusedBatch | None:
        """Return what stands for the rest of the batch at hand; None when only rubbish follows.

        `following` is the offset that was to be read next. It alone is passed over where the batch
        does not tell credibly how many offsets it covers.
        """
        first = last = following
        if self._opened is not None:
            first, last = self._opened.reached, self._opened.last_offset
            if first > max(last, self._opened.base_offset):
                return None
        elif self._stored is not None and _credible(self._stored):
            first, last = self._stored.base_offset, self._stored.last_offset
        kept = RefusedBatch(b"" if self._stored is None else self._stored._buffer)
        kept.last = max(last, following)
        kept.first = min(first, kept.last)
        known = error if isinstance(error, InputError) else damaged(type(error).__name__)
        several = f"offsets {kept.first} to {kept.last}"
        place = several if kept.first < kept.last else f"offset {kept.last}"
        detail = f"{place}: {known.detail}; the batch is kept as stored"
        kept.refusal = InputError(known.reason, detail)
        return kept


class GuardedRecords(Fetcher.PartitionRecords):  # type: ignore[misc]
    """The records of one fetch of a partition."""

    next_fetch_offset: int

    def __init__(
        self,
        fetch_offset: int,
        place: TopicPartition,
        batches: Any,
        *,
        most: int,
        suspects: set[Any],
        **given: Any,
    ) -> None:
        guarded = GuardedBatches(batches, place, most, suspects)
        super().__init__(fetch_offset, place, guarded, **(given | {"check_crcs": False}))

    def _unpack_records(
        self, place: TopicPartition, batches: GuardedBatches, *deserializers: Any
    ) -> Iterator[ConsumerRecord]:
        try:
            yield from super()._unpack_records(place, batches, *deserializers)
        except BROKEN as error:
            value = batches.refused(error, self.next_fetch_offset)
            if value is not None:
                self.next_fetch_offset = value.last + 1
                yield _record(place, self.leader_epoch, value)
            self.drain()  # the client fetches again, from behind the batch


def damaged(how: str) -> InputError:
    """Return the error of a batch that nobody can read."""
    return InputError(ReasonClass.INVALID_ENCODING, f"damaged records: {how}")


def first_offset(record: ConsumerRecord) -> int:
    """Return the first offset that a record stands for."""
    return record.value.first if isinstance(record.value, RefusedBatch) else record.offset


def _credible(batch: Any) -> bool:
    """Whether two numbers of a batch with a wrong checksum agree about the offsets it covers."""
    return batch.magic == FORMAT and bool(0 < batch.records_count == batch.last_offset_delta + 1)


def _record(place: TopicPartition, leader_epoch: int, value: RefusedBatch) -> ConsumerRecord:
    return ConsumerRecord(
        topic=place.topic,
        partition=place.partition,
        leader_epoch=leader_epoch,
        offset=value.last,
        timestamp=0,
        timestamp_type=0,
        key=None,
        value=value,
        headers=[],
        checksum=None,
        serialized_key_size=-1,
        serialized_value_size=len(value),
        serialized_header_size=-1,
    )
