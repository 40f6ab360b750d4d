"""Decompresses record batches up to a size, for every codec of Kafka."""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BytesIO
from types import MappingProxyType
from typing import Any

import cramjam
import lz4.frame
import zstandard

from radarstream.schemas.errors import InputError, ReasonClass

PIECE = 2**20  # bytes decompressed at a time
SNAPPY = 2  # the codec's number
STREAMS: Mapping[int, Callable[[BytesIO], Any]] = MappingProxyType(
    {
        1: lambda data: gzip.GzipFile(fileobj=data),
        3: lz4.frame.LZ4FrameFile,
        4: lambda data: zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True),
    }
)
CODECS = (SNAPPY, *STREAMS)
XERIAL = b"\x82SNAPPY\x00"  # beginning of a snappy stream of Kafka's clients
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
    """Decompress the records of a batch, by the codec's number in its attributes.

    Raises InputError: OVERSIZED_RECORD above `most` bytes, INVALID_ENCODING if the data is damaged
    or the codec unknown. Takes at most twice `most` bytes of memory.
    """
    if codec not in CODECS:
        raise InputError(ReasonClass.INVALID_ENCODING, f"there is no compression codec {codec}")
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in _pieces(codec, data, most):
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
    """Return the error for a batch above the limit."""
    return InputError(
        ReasonClass.OVERSIZED_RECORD,
        f"records of more than {most} bytes when decompressed (kafka.decompressed_bytes)",
    )


def _pieces(codec: int, data: bytes, most: int) -> Iterator[bytes]:
    if codec == SNAPPY:
        return _snappy(data, most)
    stream = STREAMS[codec](BytesIO(data))
    return iter(partial(stream.read, PIECE), b"")


def _snappy(data: bytes, most: int) -> Iterator[bytes]:
    """Decompress block by block; a block of snappy begins with its decompressed size."""
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
