"""Search snapshots in the wire format, one a line: bare payloads or structured CloudEvents.

Lines pass through as they are; the codec decides what they are worth.
"""

from collections.abc import Iterator
from pathlib import Path

from radarstream.connectors.files.lines import read_lines
from radarstream.schemas.records import Limits, RawRecord


def read_snapshots_jsonl(path: Path, limits: Limits) -> Iterator[RawRecord]:
    """Yield one record a line, in file order; `.gz` is decompressed on the way."""
    return read_lines(path, limits.record_bytes)
