"""The files of an experiment: rows and evidence one a line, appended; the record beside them."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from radarstream.pipelines.evaluation.experiment.records import EvidenceRow, ExperimentRecord, Row
from radarstream.pipelines.evaluation.judging import Judgement
from radarstream.schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROWS, EVIDENCE, RECORD, RESULTS = "rows.jsonl", "evidence.jsonl", "experiment.json", "results.json"
JUDGEMENTS = "judgements.jsonl"
ADVICE = "evaluate again with --no-resume: answers of the models are kept"

LineT = TypeVar("LineT", bound="DataclassInstance")
ReadT = TypeVar("ReadT")
Key = tuple[str, str, str, int]


class RowFile(Generic[LineT]):
    """Appends lines to a file; what a crash left of an unfinished last line is removed first.

    A line may be written again, for instance after its error was mended: the last one counts.
    """

    def __init__(self, path: Path) -> None:
        self._stream: BinaryIO = path.open("ab", buffering=0)
        self._stream.truncate(complete_bytes(path))

    def append(self, lines: Sequence[LineT]) -> None:
        """Return when every line is on disk."""
        if not lines:
            return
        view = memoryview(b"".join(encode_line(line) for line in lines))
        while view:
            view = view[self._stream.write(view) :]
        os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def complete_bytes(path: Path) -> int:
    """How many bytes the complete lines of a file take."""
    size = 0
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                size += len(line)
    return size


def encode_line(line: "DataclassInstance") -> bytes:
    """One line of ASCII JSON: floats keep every digit, text every character, also half pairs."""
    text = json.dumps(asdict(line), default=datetime.isoformat, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def read_rows(directory: Path) -> dict[Key, Row]:
    """Rows by (contender, condition, query id, step); the last of a key counts.

    Raises ConfigurationError for a damaged line; an unfinished last line is left out.
    """
    rows = read_lines(directory / ROWS, Row)
    return {(r.contender, r.condition, r.query_id, r.step): r for r in rows}


def read_evidence(directory: Path) -> dict[tuple[str, str, int], EvidenceRow]:
    """Evidence by (condition, query id, step), as `read_rows`."""
    rows = read_lines(directory / EVIDENCE, EvidenceRow)
    return {(r.condition, r.query_id, r.step): r for r in rows}


def read_judgements(directory: Path) -> list[Judgement]:
    """What a judge said, in the order it was written; nothing if none was asked."""
    return list(read_lines(directory / JUDGEMENTS, Judgement))


def read_lines(path: Path, kind: type[ReadT]) -> Iterator[ReadT]:
    """The complete lines of a file; none if there is no such file."""
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


def write_record(directory: Path, record: ExperimentRecord) -> None:
    """Store what the run is; whole or not at all."""
    write_json(directory / RECORD, asdict(record))


def read_record(directory: Path) -> ExperimentRecord | None:
    """What an earlier run in the directory was; None if there was none."""
    path = directory / RECORD
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return TypeAdapter(ExperimentRecord).validate_python(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is damaged ({summary(error)}); {ADVICE}") from None


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON; whole or not at all."""
    partial = path.with_name(path.name + ".part")
    text = json.dumps(value, indent=2, ensure_ascii=True, default=str)
    partial.write_text(text + "\n", encoding="ascii")
    partial.replace(path)


def summary(error: Exception) -> str:
    """What is wrong, in a few words and without what the line holds."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return type(error).__name__
