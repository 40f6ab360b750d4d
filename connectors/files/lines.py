"""Lines of a plain or gzip-compressed file, in memory bounded by the record limit."""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.records import RawRecord

EXCERPT_BYTES = 64 * 2**10  # what a dead letter keeps of a record too large to hold
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)


def open_bytes(path: Path) -> BinaryIO:
    """Open for reading; a name that ends in `.gz` is decompressed as it is read."""
    if path.suffix == ".gz":
        return BufferedReader(gzip.open(path, "rb"), EXCERPT_BYTES)
    return path.open("rb")


def read_lines(path: Path, max_bytes: int) -> Iterator[RawRecord]:
    """Every line that is not blank, without its line end; positions are 1-based line numbers.

    A line over `max_bytes` comes as its first 64 KiB, marked as oversized. A gzip stream that is
    damaged ends the file with a record that says so.
    """
    source = path.as_posix()
    position = 0
    with open_bytes(path) as stream:
        try:
            while head := stream.readline(max_bytes + 1):
                position += 1
                size = len(head)
                if size > max_bytes and not head.endswith(b"\n"):
                    size += _skip_line(stream)
                if size > max_bytes + 1:
                    yield oversized(source, position, head, f"{size} bytes")
                    continue
                line = head.removeprefix(BYTE_ORDER_MARK) if position == 1 else head
                if line.strip():
                    yield RawRecord(source, position, line.rstrip(b"\r\n"))
        except BROKEN_GZIP as error:
            yield broken_gzip(source, position + 1, error)


def oversized(source: str, position: int, head: bytes, size: str) -> RawRecord:
    """Mark a record that is too large to hold; only its head is kept."""
    detail = f"{size}; the first {EXCERPT_BYTES} are kept"
    return RawRecord(source, position, head[:EXCERPT_BYTES], ReasonClass.OVERSIZED_RECORD, detail)


def broken_gzip(source: str, position: int, error: BaseException) -> RawRecord:
    """Mark where a compressed file stops being readable."""
    detail = f"damaged gzip stream: {error}"
    return RawRecord(source, position, b"", ReasonClass.INVALID_ENCODING, detail)


def _skip_line(stream: BinaryIO) -> int:
    skipped = 0
    while chunk := stream.readline(EXCERPT_BYTES):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped
