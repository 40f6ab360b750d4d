"""One writer at a time in a directory of results."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from radarstream.schemas.errors import ConfigurationError

LOCK = ".lock"


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """Keep every other holder out of an existing directory, also other processes.

    The lock ends with the process that holds it, however it ends. Its file stays behind: who
    removed it could remove the one that the next holder has just locked. Raises
    ConfigurationError when another holds the directory or nothing can be written there.
    """
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
