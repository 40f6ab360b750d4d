"""Reads the lines of a plain or gzip-compressed file; the record limit bounds the memory."""

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.records import RawRecord

EXCERPT_BYTES = 64 * 2**10  # of a record above the limit that a dead letter keeps
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading; a file named `*.gz` is decompressed."""
    if path.suffix == ".gz":
        return BufferedReader(gzip.open(path, "rb"), EXCERPT_BYTES)
    return path.open("rb")


def read_lines(path: Path, max_bytes: int) -> Iterator[RawRecord]:
    """Yield every line that is not blank, without its line end; positions are line numbers from 1.

    Of a line over `max_bytes` it yields the first 64 KiB, marked as oversized. Where a gzip stream
    is damaged, it yields a record that says so, and ends.
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
    """Return a record that is too large, with its head only."""
    detail = f"{size}; the first {EXCERPT_BYTES} are kept"
    return RawRecord(source, position, head[:EXCERPT_BYTES], ReasonClass.OVERSIZED_RECORD, detail)


def broken_gzip(source: str, position: int, error: BaseException) -> RawRecord:
    """Return a record for the place where a gzip stream is damaged."""
    detail = f"damaged gzip stream: {error}"
    return RawRecord(source, position, b"", ReasonClass.INVALID_ENCODING, detail)


def _skip_line(stream: BinaryIO) -> int:
    skipped = 0
    while chunk := stream.readline(EXCERPT_BYTES):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return skipped
