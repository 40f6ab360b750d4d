"""The directory of a replay: what is written there and read back."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from radarstream.connectors.files.directories import write_json
from radarstream.connectors.files.jsonl_sink import FILES
from radarstream.connectors.models.tiers import model_card
from radarstream.pipelines.job.replaying.record import RunRecord
from radarstream.schemas.codec import decode_answer, decode_dead_letter, decode_record
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import UNLIMITED, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

ANSWERS, DEAD_LETTERS = FILES["answers.defended"], FILES["snapshots.deadletter"]
SNAPSHOTS, RUN = "snapshots.jsonl", "run.json"
REPORT, BASELINES = "report.html", "baselines.jsonl"  # written by the lab
STATE = "state.sqlite"
T = TypeVar("T")


@dataclass(frozen=True)
class Results:
    """What a run answered, by question and time; documents have the ranks of the answers."""

    run: RunRecord
    answers: list[AnswerEvent]
    snapshots: dict[str, SearchSnapshot]
    dead_reasons: dict[str, int]

    def seen(self, answer: AnswerEvent) -> SearchSnapshot:
        """The snapshot of an answer without the documents that a reranker dropped."""
        snapshot, reranking = self.snapshots[answer.snapshot_id], answer.reranking
        return snapshot if reranking is None else reranking.without_dropped(snapshot)

    def summary(self) -> dict[str, Any]:
        """The figures as plain values."""
        card = model_card(self.run.models)
        run = {"language_model": card, "run": asdict(self.run)}
        return run | {"dead_letters": self.dead_reasons}


def read_results(directory: Path) -> Results:
    """Read a run back. Raises ConfigurationError when the directory holds none that is finished."""
    decode = partial(decode_record, limits=UNLIMITED, now=None)
    snapshots = {found.id: found for found in _decoded(directory / SNAPSHOTS, decode)}
    run = read_run(directory / RUN)
    if not run.finished:
        raise ConfigurationError(
            f"{directory} holds no finished replay: its command with --resume goes on from there"
        )
    queries = dict.fromkeys(snapshot.query.id for snapshot in snapshots.values())
    order = {query_id: place for place, query_id in enumerate(queries)}  # as the input names them
    found = _decoded(directory / ANSWERS, lambda record: decode_answer(record.payload))
    answers = [answer for answer in found if answer.snapshot_id in snapshots]
    for answer in answers:
        if answer.reranking is not None:
            found_there = snapshots[answer.snapshot_id]
            snapshots[answer.snapshot_id] = answer.reranking.renumbered(found_there)
    answers.sort(key=lambda answer: (order[answer.query_id], answer.step))
    reasons = Counter(letter.reason.value for letter in _dead_letters(directory)).most_common()
    return Results(run, answers, snapshots, dict(reasons))


def _decoded(file: Path, decode: Callable[[RawRecord], T]) -> Iterator[T]:
    """Yield what the lines of a file hold. Raises ConfigurationError naming a damaged line."""
    for number, line in enumerate(_lines_of(file), start=1):
        try:
            yield decode(RawRecord(file.name, number, line))
        except InputError as error:
            raise ConfigurationError(
                f"{file} line {number} is damaged ({error}); replay again"
            ) from None


def _lines_of(file: Path) -> Iterator[bytes]:
    """Yield a file's lines; ConfigurationError if there is no such file."""
    try:
        with file.open("rb") as stream:
            yield from stream
    except FileNotFoundError:
        raise ConfigurationError(
            f"{file.parent} holds no finished replay: no {file.name}"
        ) from None


def _dead_letters(directory: Path) -> Iterator[DeadLetter]:
    return _decoded(directory / DEAD_LETTERS, lambda record: decode_dead_letter(record.payload))


def first_dead_letter(directory: Path) -> str:
    """Say in a few words why the first record in a run's dead letters is there, if there is one."""
    letter = next(_dead_letters(directory), None)
    if letter is None:
        return ""
    where = f"{letter.source} record {letter.position}"
    return f"; the first dead letter: {where}: {letter.reason.value}: {letter.detail}"


def count_lines(file: Path) -> int:
    """Count a file's lines."""
    return sum(1 for _ in _lines_of(file))


def write_run(directory: Path, run: RunRecord) -> None:
    """Store what the run was beside its results."""
    write_json(directory / RUN, asdict(run))


def read_run(file: Path) -> RunRecord:
    """Read what the run was."""
    try:
        return TypeAdapter(RunRecord).validate_json(b"".join(_lines_of(file)))
    except ValidationError as error:
        raise ConfigurationError(f"{file} is damaged: {error.errors()[0]['msg']}") from None
