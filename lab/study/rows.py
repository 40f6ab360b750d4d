"""What every study writes down: files of tidy rows, one JSON object a line, each with what it cost.

A row says what one *contender* made of one question (`query_id`) at one `step` under one
*condition*. Kinds of studies add fields. Beside rows a study keeps its material: evidence, pools,
passages, questions.
"""

import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Document

ERROR_CHARACTERS: Final = 300
BENIGN: Final = "benign"  # the condition without an attack
EVIDENCE_WORK: Final = "evidence"  # the kind of work that gathers material


@dataclass(frozen=True, slots=True)
class Cost:
    """What one row asked of the models, counted whether or not a cache knew the reply.

    Repetitions within one row count once. `calls` are prompts that were completed, `forwards`
    prompts whose continuation was scored (`continuation_tokens` in all), `pairs` answers that were
    related, `embeddings` texts embedded or measured, `passes` forward and backward passes of one
    passage through an encoder, `masked` texts of which a masked model guessed a part, `attended`
    prompts of which it was told how their passages share the attention. Tokens are None where a
    model did not count those of some prompt.

    Seconds are per stage, as in Table 8 of the RADAR paper; `service_seconds` are those of a whole
    question that a service was asked. A completion found in the cache counts with what it took when
    it was made; everything else with the time of looking it up, shared out evenly over a batch.
    """

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    forwards: int = 0
    continuation_tokens: int = 0
    pairs: int = 0
    embeddings: int = 0
    passes: int = 0
    masked: int = 0
    attended: int = 0
    atomic_seconds: float = 0.0
    relation_seconds: float = 0.0
    selection_seconds: float = 0.0
    generation_seconds: float = 0.0
    service_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """All stages together."""
        stages = (self.atomic_seconds, self.relation_seconds, self.selection_seconds)
        return sum(stages) + self.generation_seconds + self.service_seconds

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a table of rows."""
        return asdict(self) | {"seconds": self.seconds}


COST: Final = (*(field.name for field in fields(Cost)), "seconds")  # columns


class Stored(Protocol):
    """One line of a study's files: a frozen dataclass, either a row or material."""

    @property
    def key(self) -> Hashable:
        """What tells a line from the others of its file; of two with one key the later counts."""

    @property
    def error(self) -> str | None:
        """Why there is no result; such a line is computed again in the next run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """What all rows hold. With `error` there is no result."""

    contender: str
    condition: str
    query_id: str
    step: int = 0
    error: str | None = None
    cost: Cost = field(default=Cost())

    key = property(attrgetter("contender", "condition", "query_id", "step"))


class Material:
    """What rows rest on. It has no error: what fails when it is gathered ends the run."""

    __slots__ = ()
    error: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class PassageRow(Material):
    """The text of a candidate or of a document that was found, which rows name by its id."""

    id: str
    document: Document

    key = property(attrgetter("id"))


def error_words(error: Exception) -> str:
    """The kind of an error and the start of its message."""
    return f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ADVICE = "evaluate again with --no-resume: answers of the models are kept"

ReadT = TypeVar("ReadT")


class RowFile:
    """Appends rows to a file; what a crash left of an unfinished last line is removed first. A row
    may be written again, for instance after its error was mended: the last one counts.
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

    def close(self) -> None:
        """Release the file."""
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
            files = {
                kind: opening.enter_context(closing(RowFile(p))) for kind, p in self.paths.items()
            }

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
    """The complete lines of a file; none if there is no such file. Raises ConfigurationError for a
    damaged line; an unfinished last line is left out.
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
