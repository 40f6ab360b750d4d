"""Notices a SQLite file that was deleted, replaced or cut off under a running process.

SQLite goes on writing to a file that has no name any more, and reads what it holds in memory of a
file that was emptied: the job would answer happily and remember nothing after its next start.
"""

from contextlib import suppress
from dataclasses import dataclass
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

    def compare(self, *_: Any) -> None:
        """Look at the file. Raises ConfigurationError; once it did, for good."""
        identity, size = None, 0
        with suppress(FileNotFoundError):
            status = self.path.stat()
            identity, size = (status.st_dev, status.st_ino), status.st_size
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
    for use in ("connect", "checkout"):
        event.listen(engine, use, seen.compare)


def cut_off(path: Path) -> bool:
    """Whether the file holds less than its header says, as after no compaction."""
    for _ in range(LOOKS):
        with suppress(FileNotFoundError), path.open("rb") as file:
            header = file.read(HEADER_BYTES)
            page = int.from_bytes(header[16:18], "big")
            whole = (LARGEST_PAGE if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if header.startswith(MAGIC) and path.stat().st_size >= whole:
                return False
        sleep(BETWEEN_S)
    return True
