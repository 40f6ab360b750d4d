"""The directory of a replay: what is written there and read back."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import TypeAdapter, ValidationError

from radarstream.connectors.files.jsonl_sink import FILES
from radarstream.connectors.models.tiers import model_card
from radarstream.pipelines.evaluation.defences.answers import DEFENDED, UNDEFENDED, replay_frame
from radarstream.pipelines.evaluation.defences.baselines import BASELINES
from radarstream.pipelines.evaluation.defences.planted import replay_curves
from radarstream.pipelines.evaluation.defences.records import Row
from radarstream.pipelines.evaluation.defences.scoreboard import Point
from radarstream.pipelines.evaluation.run_record import RunRecord
from radarstream.pipelines.evaluation.study.row_files import read_lines, write_json
from radarstream.pipelines.pages.replay.page import render_report
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.reading import as_read
from radarstream.schemas.codec import decode_answer, decode_dead_letter, decode_record
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import UNLIMITED, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

ANSWERS, DEAD_LETTERS = FILES["answers.defended"], FILES["snapshots.deadletter"]
SNAPSHOTS, RUN, REPORT = "snapshots.jsonl", "run.json", "report.html"
STATE = "state.sqlite"
SIDES = (DEFENDED, UNDEFENDED)
T = TypeVar("T")


@dataclass(frozen=True)
class Results:
    """What a run answered, from what, and at which cost; answers by question, then time.

    Documents of the `snapshots` have the ranks of the answers, also where a reranker gave them.
    """

    run: RunRecord
    answers: list[AnswerEvent]
    snapshots: dict[str, SearchSnapshot]
    dead_reasons: dict[str, int]
    baselines: tuple[Row, ...] = ()

    def seen(self, answer: AnswerEvent) -> SearchSnapshot:
        """The snapshot of an answer without the documents that a reranker dropped."""
        snapshot, reranking = self.snapshots[answer.snapshot_id], answer.reranking
        return snapshot if reranking is None else reranking.without_dropped(snapshot)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table of answers."""
        return replay_frame(self.answers, self.snapshots, self.baselines)

    @property
    def sides(self) -> tuple[str, ...]:
        """Whose answers there may be: defended, undefended, and the baselines in their order."""
        return (*SIDES, *dict.fromkeys(row.contender for row in self.baselines))

    @cached_property
    def curves(self) -> dict[str, tuple[Point, ...]]:
        """How right, fooled and silent each side is, by the number of sites with planted pages."""
        return replay_curves(self.frame)

    def summary(self) -> dict[str, Any]:
        """The figures as plain values."""
        card = model_card(self.run.models)
        run = {"language_model": card, "run": asdict(self.run)}
        scores = {name: list(map(asdict, points)) for name, points in self.curves.items()}
        return run | {"dead_letters": self.dead_reasons, "scores": scores}


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
    baselines = tuple(read_lines(directory / BASELINES, Row))
    reasons = Counter(letter.reason.value for letter in _dead_letters(directory)).most_common()
    return Results(run, answers, snapshots, dict(reasons), baselines)


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


def write_report(directory: Path, results: Results) -> Path:
    """Render the HTML report beside the results."""
    file = directory / REPORT
    read = read_again(results)
    html = render_report(
        results.answers, results.snapshots, results.run, read=read, baselines=results.baselines
    )
    file.write_text(html, encoding="utf-8")
    return file


def read_again(results: Results) -> dict[str, SearchSnapshot]:
    """The answered snapshots as the models of a run read them, by id.

    What is read follows from the snapshot and the settings.
    """
    reading = ReadingSettings.model_validate(results.run.settings["reading"])
    seen = {answer.snapshot_id: results.seen(answer) for answer in results.answers}
    return dict(zip(seen, as_read(list(seen.values()), reading), strict=True))
