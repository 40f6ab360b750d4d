"""Writes events to files: one structured CloudEvent per line, each event once."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from radarstream.connectors.closing import Closing
from radarstream.schemas.codec import structured
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import OutboxRecord

FILES = {
    "answers.defended": "answers.jsonl",
    "events.attribution": "attribution.jsonl",
    "snapshots.deadletter": "deadletter.jsonl",
}


class JsonlSink(Closing):
    """Appends events to `answers.jsonl`, `attribution.jsonl` and `deadletter.jsonl`.

    Opening removes an incomplete last line and reads the ids of the others, so that an event that
    is published again is not written again. The caller has locked the directory
    (`directories.hold_directory`).
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._files: dict[str, _EventFile] = {}
        try:
            for topic, name in FILES.items():
                self._files[topic] = _EventFile(directory / name)
            _sync_directory(directory)
        except (ConfigurationError, OSError):
            self.close()
            raise

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        """Return when every record is on disk. Raises OSError otherwise; then publish all again."""
        unknown = {record.topic for record in records} - self._files.keys()
        if unknown:
            raise ConfigurationError(f"no file for topics {sorted(unknown)}")
        for topic, file in self._files.items():
            file.append([record for record in records if record.topic == topic])

    def close(self) -> None:
        """Close the files; all published events are on disk already."""
        for file in self._files.values():
            file.close()


class _EventFile:
    def __init__(self, path: Path) -> None:
        path.touch()
        self._ids, complete = _events(path)
        self._stream: BinaryIO = path.open("ab", buffering=0)
        self._stream.truncate(complete)

    def append(self, records: Sequence[OutboxRecord]) -> None:
        fresh = {r.event_id: r for r in records if r.event_id not in self._ids}
        if not fresh:
            return
        block = b"".join(structured(r.envelope, r.data) + b"\n" for r in fresh.values())
        end = self._stream.seek(0, os.SEEK_END)
        try:
            _write_all(self._stream, block)
            os.fsync(self._stream.fileno())
        except OSError:
            self._stream.truncate(end)
            raise
        self._ids.update(fresh)

    def close(self) -> None:
        self._stream.close()


def _events(path: Path) -> tuple[set[str], int]:
    """Return the ids of the events in a file, and the size of its complete lines in bytes."""
    ids: set[str] = set()
    complete = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                break
            complete += len(line)
            try:
                ids.add(json.loads(line)["id"])
            except (ValueError, TypeError, KeyError, RecursionError):
                raise ConfigurationError(
                    f"{path} line {number} is not an event; move the file away"
                ) from None
    return ids, complete


def _write_all(stream: BinaryIO, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[stream.write(view) :]


def _sync_directory(directory: Path) -> None:
    """Make the names of new files durable; syncing the files alone does not."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
