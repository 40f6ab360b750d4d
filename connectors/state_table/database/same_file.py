"""Notices that a SQLite file was deleted, replaced or truncated during its use.

SQLite continues to write to a deleted file and to read its cache of an emptied one. The job would
go on, and remember nothing after its next start.
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
LARGEST_PAGE: Final = 65_536  # stored as 1
LOOKS: Final = 3  # at a file that seems truncated, as one that grows is for a moment
BETWEEN_S: Final = 0.1


@dataclass
class Seen:
    """The identity of the file, its largest size, and its damage."""

    path: Path
    identity: tuple[int, int] | None = None
    size: int = 0
    harm: str = ""

    def compare(self, *_: Any) -> None:
        """Check the file. Raises ConfigurationError from the first damage on."""
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
    """Refuse every use of the database after `path` was deleted, replaced or truncated.

    Call it before adding other listeners, which may write to the file.
    """
    seen = Seen(path)
    for use in ("connect", "checkout"):
        event.listen(engine, use, seen.compare)


def cut_off(path: Path) -> bool:
    """Whether the file is smaller than its header says, which compaction never causes."""
    for _ in range(LOOKS):
        with suppress(FileNotFoundError), path.open("rb") as file:
            header = file.read(HEADER_BYTES)
            page = int.from_bytes(header[16:18], "big")
            whole = (LARGEST_PAGE if page == 1 else page) * int.from_bytes(header[28:32], "big")
            if header.startswith(MAGIC) and path.stat().st_size >= whole:
                return False
        sleep(BETWEEN_S)
    return True
