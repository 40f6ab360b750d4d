"""Reads batches of records without exhausting memory or stopping at a damaged one.

kafka-python decompresses a batch of any size, and raises an error each time it reads a damaged
batch. Here decompression has a limit. If a batch cannot be read to its end, one record replaces the
rest: its value is a `RefusedBatch` and its offset the last one of the batch, so that reading
continues after it.
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

POLL_BYTES = 32 * 2**20  # a poll ends after so many bytes
HEADERS = 256  # most headers of a record; each takes 2 bytes in a batch and a hundred in memory
FORMAT = 2  # of batches, the only one since Kafka 0.11
CHECKSUM = "a wrong checksum, twice"
BROKEN = (InputError, CorruptRecordError, struct.error)  # errors of damaged batches, not of ours


class RefusedBatch(bytes):
    """A batch as the broker stores it, the offsets that it replaces, and why it cannot be read."""

    first: int
    last: int
    refusal: InputError


def guard(consumer: KafkaConsumer, most: int) -> None:
    """Make a new consumer refuse damaged batches, and those of more than `most` bytes."""
    fetcher = consumer._fetcher  # the client has no public interface to decoding
    fetcher.PartitionRecords = partial(GuardedRecords, most=most, suspects=set())
    fetcher.fetched_records = partial(few_bytes, fetcher.fetched_records)


def few_bytes(
    fetched_records: Callable[..., tuple[dict[TopicPartition, list[Any]], bool]],
    max_records: int,
    update_offsets: bool = True,
) -> tuple[dict[TopicPartition, list[Any]], bool]:
    """Fetch records as the client does, up to `POLL_BYTES`.

    An error after the first record is dropped, because the broker repeats it.
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
            return drained, True  # the rest of this answer comes before a new request
    return drained, unparsed


class GuardedBatch(DefaultRecordBatch):  # type: ignore[misc]
    """A batch that decompresses up to `most` bytes and checks its records one by one.

    `reached` is the first offset that was not yet read.
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
    """The batches of one fetch, each checked before it is decoded.

    `suspects` are the batches that had a wrong checksum once.
    """

    def __init__(self, batches: Any, place: TopicPartition, most: int, suspects: set[Any]) -> None:
        self._batches = batches
        self._place = place
        self._most = most
        self._suspects = suspects
        self._stored: Any = None  # the current batch as received
        self._opened: GuardedBatch | None = None  # the current batch, if its checksum is right

    def next_batch(self) -> GuardedBatch | None:
        """Return the next batch, None at the end or before one that must be fetched again.

        A checksum may be wrong because of the transfer: only a batch that has it twice is damaged.
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
        """Return the replacement of the rest of the current batch; None if all offsets were read.

        `following` is the offset to read next. If the batch does not say credibly which offsets it
        has, only `following` is skipped.
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
            self.drain()  # the client fetches again, after the batch


def damaged(how: str) -> InputError:
    """Return the error of a damaged batch."""
    return InputError(ReasonClass.INVALID_ENCODING, f"damaged records: {how}")


def first_offset(record: ConsumerRecord) -> int:
    """Return the first offset of a record, or of the batch that it replaces."""
    return record.value.first if isinstance(record.value, RefusedBatch) else record.offset


def _credible(batch: Any) -> bool:
    """Whether two fields of a batch with a wrong checksum agree about its number of offsets."""
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
