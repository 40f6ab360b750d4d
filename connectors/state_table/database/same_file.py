"""Notices a SQLite file that was deleted, replaced or cut off under a running process.

SQLite goes on writing to a file that has no name any more, and reads what it holds in memory of a
file that was emptied: the job would answer happily and remember nothing after its next start.
"""

from dataclasses import dataclass
from os import stat_result
from pathlib import Path
from time import sleep
from typing import Any, Final

from sqlalchemy import Engine, event

from radarstream.schemas.errors import ConfigurationError

MAGIC: Final = b"SQLite format 3\0"
HEADER_BYTES: Final = 32
LARGEST_PAGE: Final = 65_536  # is written as 1
LOOKS: Final = 3  # at a file that seems cut off: one that grows is, for a moment
BETWEEN_S: Final = 0.1


@dataclass
class Seen:
    """What is known of the file: which one it is, its largest size, and what became of it."""

    path: Path
    identity: tuple[int, int] | None = None
    size: int = 0
    harm: str = ""

    def compare(self) -> None:
        """Look at the file. Raises ConfigurationError; once it did, for good."""
        status = status_of(self.path)
        identity = (status.st_dev, status.st_ino) if status else None
        size = status.st_size if status else 0
        self.identity = self.identity or identity
        if identity != self.identity:
            self.harm = "deleted or replaced"
        elif size < self.size and cut_off(self.path):
            self.harm = "cut off"
        if self.harm:
            raise ConfigurationError(
                f"the state database {self.path} was {self.harm} while it was in use; "
                "restore the file, then start again"
            )
        self.size = size


def insist_on_file(engine: Engine, path: Path) -> None:
    """Refuse every further use of the database once `path` is not the whole file it was.

    Call it before other listeners are added: a connection that is set up writes to the file.
    """
    seen = Seen(path)

    def compare(*_: Any) -> None:
        seen.compare()

    event.listen(engine, "connect", compare)
    event.listen(engine, "checkout", compare)


def status_of(path: Path) -> stat_result | None:
    """What the file system says of a file; None when there is no such file."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def cut_off(path: Path) -> bool:
    """Whether the file holds less than its header says, as after no compaction."""
    for _ in range(LOOKS):
        header = head_of(path)
        page = int.from_bytes(header[16:18], "big")
        whole = (LARGEST_PAGE if page == 1 else page) * int.from_bytes(header[28:32], "big")
        status = status_of(path)
        if header.startswith(MAGIC) and status is not None and status.st_size >= whole:
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
