"""Directories of results, held by one writer at a time, and files that are written whole or not."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from radarstream.schemas.errors import ConfigurationError

LOCK = ".lock"


def make_directory(directory: Path) -> None:
    """Create a directory and its parents; ConfigurationError if that cannot be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write to {directory}: {error.strerror}") from None


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """Make a directory and keep every other holder out of it, also other processes.

    The lock ends with the process that holds it, however it ends. Its file stays behind: who
    removed it could remove the one that the next holder has just locked. Raises
    ConfigurationError when another holds the directory or nothing can be written there.
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
    """Write indented JSON; whole or not at all."""
    text = json.dumps(value, indent=2, ensure_ascii=True, default=str)
    write_whole(path, f"{text}\n".encode("ascii"))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a crash leaves what was there before."""
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(content)
    partial.replace(path)
