"""Decompression of record batches that stops at a size, for every codec of Kafka."""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

import cramjam
import lz4.frame
import zstandard

from radarstream.schemas.errors import InputError, ReasonClass

PIECE = 2**20  # bytes decompressed at a time
XERIAL = b"\x82SNAPPY\x00"  # begins a snappy stream as Kafka's clients write it
XERIAL_HEADER_BYTES = 16
BROKEN = (
    EOFError,
    OSError,  # gzip.BadGzipFile is one
    RuntimeError,  # of lz4
    struct.error,
    zlib.error,
    zstandard.ZstdError,
    cramjam.DecompressionError,
)


def decompressed(codec: int, data: bytes, most: int) -> bytes:
    """Return the records of a batch, by the codec's number in its attributes.

    Raises InputError: OVERSIZED_RECORD when they take more than `most` bytes, INVALID_ENCODING when
    the data is damaged or the codec unknown. Never holds more than twice `most`.
    """
    pieces_of = CODECS.get(codec)
    if pieces_of is None:
        raise InputError(ReasonClass.INVALID_ENCODING, f"there is no compression codec {codec}")
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in pieces_of(data, most):
            size += len(piece)
            if size > most:
                raise too_large(most)
            pieces.append(piece)
    except BROKEN as error:
        raise InputError(
            ReasonClass.INVALID_ENCODING, f"damaged compressed records: {type(error).__name__}"
        ) from None
    return b"".join(pieces)


def too_large(most: int) -> InputError:
    """Return what is said of a batch above the limit; the same words whatever its true size."""
    return InputError(
        ReasonClass.OVERSIZED_RECORD,
        f"records of more than {most} bytes when decompressed (kafka.decompressed_bytes)",
    )


def _gzip(data: bytes, _most: int) -> Iterator[bytes]:
    return _pieces(gzip.GzipFile(fileobj=BytesIO(data)))


def _lz4(data: bytes, _most: int) -> Iterator[bytes]:
    return _pieces(lz4.frame.LZ4FrameFile(BytesIO(data)))


def _zstd(data: bytes, _most: int) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor()
    return _pieces(decompressor.stream_reader(BytesIO(data), read_across_frames=True))


def _pieces(stream: Any) -> Iterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


def _snappy(data: bytes, most: int) -> Iterator[bytes]:
    """Snappy does not stream, but a block begins with its decompressed size."""
    for block in _snappy_blocks(data):
        if cramjam.snappy.decompress_raw_len(block) > most:
            raise too_large(most)
        yield bytes(cramjam.snappy.decompress_raw(block))


def _snappy_blocks(data: bytes) -> Iterator[bytes]:
    if not data.startswith(XERIAL):
        yield data
        return
    place = XERIAL_HEADER_BYTES
    while place < len(data):
        (size,) = struct.unpack_from(">i", data, place)
        if size < 0:
            raise EOFError
        place += 4
        yield data[place : place + size]
        place += size


CODECS: Mapping[int, Callable[[bytes, int], Iterator[bytes]]] = MappingProxyType(
    {1: _gzip, 2: _snappy, 3: _lz4, 4: _zstd}
)
