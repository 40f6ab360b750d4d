"""Notices a SQLite file that was deleted or replaced under a running process.

SQLite goes on writing to a file that has no name any more: the job would answer happily and
remember nothing after its next start.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from schemas.errors import ConfigurationError


def insist_on_file(engine: Engine, path: Path) -> None:
    """Refuse every further use of the database once `path` is not the file that was opened."""

    def note(_connection: Any, record: Any) -> None:
        record.info["file"] = identity(path)

    def compare(_connection: Any, record: Any, _proxy: Any) -> None:
        if record.info["file"] != identity(path):
            raise ConfigurationError(
                f"the state database {path} was deleted or replaced while it was in use; "
                "restore the file, then start again"
            )

    event.listen(engine, "connect", note)
    event.listen(engine, "checkout", compare)


def identity(path: Path) -> tuple[int, int] | None:
    """Device and inode; None when there is no such file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
