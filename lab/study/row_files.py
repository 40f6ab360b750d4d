"""Files of rows, one JSON object a line, appended while a study runs; and small JSON files."""

import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from radarstream.schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ADVICE = "evaluate again with --no-resume: answers of the models are kept"

ReadT = TypeVar("ReadT")


class RowFile:
    """Appends rows to a file; what a crash left of an unfinished last line is removed first.

    A row may be written again, for instance after its error was mended: the last one counts.
    """

    def __init__(self, path: Path) -> None:
        self._stream = path.open("ab")
        with path.open("rb") as lines:
            self._stream.truncate(sum(len(line) for line in lines if line.endswith(b"\n")))

    def append(self, rows: "Sequence[DataclassInstance]") -> None:
        """Return when every row is on disk."""
        if rows:
            self._stream.write(b"".join(map(encode_line, rows)))
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class RowStore:
    """The rows of a directory by type and key, on disk and in memory."""

    def __init__(self, directory: Path, files: Mapping[type[Any], str]) -> None:
        """Read what is there. Raises ConfigurationError for a damaged line."""
        self.directory = directory
        self.paths = {kind: directory / name for kind, name in files.items()}
        self.rows: dict[type[Any], dict[Hashable, Any]] = {
            kind: {row.key: row for row in read_lines(path, kind)}
            for kind, path in self.paths.items()
        }

    def of(self, kind: type[ReadT]) -> dict[Any, ReadT]:
        """The rows of one type by their keys, in the order in which keys first came."""
        return cast("dict[Any, ReadT]", self.rows[kind])

    @contextmanager
    def appending(self) -> Iterator[Callable[[Sequence[Any]], None]]:
        """Open the files; the function given keeps rows, of two with one key the later."""
        with ExitStack() as opening:
            files = {kind: opening.enter_context(RowFile(p)) for kind, p in self.paths.items()}

            def append(rows: Sequence[Any]) -> None:
                # What rows rest on is there before them, wherever it breaks off.
                for kind, file in reversed(files.items()):
                    members = [row for row in rows if type(row) is kind]
                    file.append(members)
                    self.rows[kind] |= {row.key: row for row in members}

            yield append


def encode_line(line: "DataclassInstance") -> bytes:
    """One line of ASCII JSON: floats keep every digit, text every character, also half pairs."""
    text = json.dumps(asdict(line), default=datetime.isoformat, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def read_lines(path: Path, kind: type[ReadT]) -> Iterator[ReadT]:
    """The complete lines of a file; none if there is no such file.

    Raises ConfigurationError for a damaged line; an unfinished last line is left out.
    """
    if not path.exists():
        return
    lines_as: TypeAdapter[ReadT] = TypeAdapter(kind)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield lines_as.validate_python(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise ConfigurationError(
                    f"{path} line {number} is damaged ({summary(error)}); {ADVICE}"
                ) from None


def summary(error: Exception) -> str:
    """What is wrong, in a few words and without what the line holds."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return type(error).__name__
