"""Batches of records as no honest producer writes them: bombs, and bytes that are damaged."""

import gzip
import io
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import cramjam
import lz4.frame
import zstandard
from kafka import KafkaProducer
from kafka.record import default_records
from kafka.record.util import encode_varint

from radarstream.connectors.kafka.clients import producer_arguments
from radarstream.connectors.kafka.options import KafkaOptions

PIECE = bytes(2**20)
BOMB_BYTES = 1_100 * 2**20


@contextmanager
def peak_below(bytes_more: int) -> Iterator[None]:
    """Fail when Python and its decompressors hold more than that at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < bytes_more
    finally:
        tracemalloc.stop()


def zstd_zeros(size: int = BOMB_BYTES) -> bytes:
    """1.1 GB of zeros in 35 KB."""
    packed = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as writer:
        for _ in range(size // len(PIECE)):
            writer.write(PIECE)
    return packed.getvalue()


def zeros(codec: str, size: int) -> bytes:
    """Zeros in another codec, whose batches cannot be as small."""
    plain = bytes(size)
    if codec == "zstd":
        return zstd_zeros(size)
    if codec == "gzip":
        return gzip.compress(plain, 1)
    if codec == "lz4":
        return lz4.frame.compress(plain, block_linked=False)
    return bytes(cramjam.snappy.compress_raw(plain))


def send_batch(
    options: KafkaOptions,
    topic: str,
    stored: bytes | None,
    *,
    records: list[bytes],
    checksum: int | None = None,
    headers: list[tuple[str, bytes]] | None = None,
) -> list[int]:
    """Write records as one zstd batch of partition 0 and return their offsets.

    `stored` replaces what they are compressed to; `checksum` that of the batch.
    """
    arguments = producer_arguments(options)
    arguments |= {"compression_type": "zstd", "linger_ms": 10_000, "batch_size": 2**24}
    producer = KafkaProducer(**arguments)
    name = options.topic(topic)
    try:
        producer.partitions_for(name)
        encode, crc = default_records.zstd_encode, default_records.calc_crc32c
        with (
            patch.object(default_records, "zstd_encode", lambda data: stored or encode(data)),
            patch.object(
                default_records, "calc_crc32c", lambda data: crc(data) if checksum is None else 1
            ),
        ):
            sent = [
                producer.send(name, value, b"k", partition=0, headers=headers or [])
                for value in records
            ]
            producer.flush(20)
        return [future.get(0).offset for future in sent]
    finally:
        producer.close(timeout=5)


def zstd_records(count: int, size: int = BOMB_BYTES) -> bytes:
    """1.1 GB of zeros in 35 KB, as values of well-formed records: Apache Kafka looks closely."""
    value = size // count // len(PIECE) * len(PIECE)
    packed = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as writer:
        for number in range(count):
            body = bytearray(2)  # attributes, time stamp
            for field in (number, 1):
                encode_varint(field, body.append)
            body += b"k"
            encode_varint(value, body.append)
            length = bytearray()
            encode_varint(len(body) + value + 1, length.append)
            writer.write(bytes(length + body))
            for _ in range(value // len(PIECE)):
                writer.write(PIECE)
            writer.write(b"\0")  # no headers
    return packed.getvalue()


def send_bomb(options: KafkaOptions, topic: str, records: int = 1) -> list[int]:
    """Write a batch of 35 KB that decompresses to 1.1 GB, mostly zeros."""
    bomb = zstd_records(records)
    return send_batch(options, topic, bomb, records=[bytes(len(bomb) + 1)] * records)
