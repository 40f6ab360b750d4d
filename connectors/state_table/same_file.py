"""Notices a SQLite file that was deleted, replaced or cut off under a running process.

SQLite goes on writing to a file that has no name any more, and reads what it holds in memory of a
file that was emptied: the job would answer happily and remember nothing after its next start.
"""

from pathlib import Path
from time import sleep
from typing import Any, Final

from sqlalchemy import Engine, event

from schemas.errors import ConfigurationError

MAGIC: Final = b"SQLite format 3\0"
HEADER_BYTES: Final = 32
LARGEST_PAGE: Final = 65_536  # is written as 1
LOOKS: Final = 3  # at a file that seems cut off: one that grows is, for a moment
BETWEEN_S: Final = 0.1


def insist_on_file(engine: Engine, path: Path) -> None:
    """Refuse every further use of the database once `path` is not the whole file it was."""
    largest = 0

    def note(_connection: Any, record: Any) -> None:
        record.info["file"] = identity(path)

    def compare(_connection: Any, record: Any, _proxy: Any) -> None:
        nonlocal largest
        if record.info["file"] != identity(path):
            raise ConfigurationError(changed(path, "deleted or replaced"))
        size = size_of(path)
        if size < largest and cut_off(path):
            raise ConfigurationError(changed(path, "cut off"))
        largest = size

    event.listen(engine, "connect", note)
    event.listen(engine, "checkout", compare)


def changed(path: Path, how: str) -> str:
    """Say what happened and what to do."""
    return (
        f"the state database {path} was {how} while it was in use; "
        "restore the file, then start again"
    )


def identity(path: Path) -> tuple[int, int] | None:
    """Device and inode; None when there is no such file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def size_of(path: Path) -> int:
    """Bytes; 0 when there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def cut_off(path: Path) -> bool:
    """Whether the file holds less than its header says, as after no compaction."""
    for _ in range(LOOKS):
        header = head_of(path)
        page = int.from_bytes(header[16:18], "big")
        whole = (LARGEST_PAGE if page == 1 else page) * int.from_bytes(header[28:32], "big")
        if header.startswith(MAGIC) and size_of(path) >= whole:
            return False
        sleep(BETWEEN_S)
    return True


def head_of(path: Path) -> bytes:
    """The first bytes of a file; none when there is no such file."""
    try:
        with path.open("rb") as file:
            return file.read(HEADER_BYTES)
    except FileNotFoundError:
        return b""
