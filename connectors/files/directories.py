"""Locks directories of results for one writer, and replaces files atomically."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radarstream.schemas.errors import ConfigurationError

LOCK = ".lock"


def make_directory(directory: Path) -> None:
    """Create a directory and its parents. Raises ConfigurationError if that fails."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write to {directory}: {error.strerror}") from None


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """Create a directory and lock it against other threads and processes.

    The lock ends with the process. Its file stays, because removing it could remove the file that
    the next writer has just locked. Raises ConfigurationError if another writer has the lock, or
    the directory is not writable.
    """
    make_directory(directory)
    try:
        stream = (directory / LOCK).open("ab")
    except OSError as error:
        raise ConfigurationError(f"cannot write to {directory}: {error.strerror}") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigurationError(f"another command is writing to {directory}") from None
        yield


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON by `write_whole`."""
    text = json.dumps(value, indent=2, ensure_ascii=True, default=str)
    write_whole(path, f"{text}\n".encode("ascii"))


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically: after a crash it has the old content or the new."""
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(content)
    partial.replace(path)
