"""A run's directory: what `replay` writes there and what `report` reads back."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import TypeAdapter, ValidationError

from radarstream.connectors.files.jsonl_sink import FILES
from radarstream.pipelines.evaluation.frame import DEFENDED, UNDEFENDED, replay_frame
from radarstream.pipelines.evaluation.rates import SCORED, Scores, scores_by
from radarstream.pipelines.evaluation.run_record import RunRecord
from radarstream.pipelines.evaluation.study.row_files import write_json
from radarstream.pipelines.pages.replay.page import render_report
from radarstream.schemas.codec import decode_answer, decode_record
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import UNLIMITED, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

ANSWERS, DEAD_LETTERS = FILES["answers.defended"], FILES["snapshots.deadletter"]
SNAPSHOTS, RUN, REPORT = "snapshots.jsonl", "run.json", "report.html"
SIDES = (DEFENDED, UNDEFENDED)
T = TypeVar("T")


@dataclass(frozen=True)
class Results:
    """What a run answered, from what, and at which cost; answers by question, then time."""

    run: RunRecord
    answers: list[AnswerEvent]
    snapshots: dict[str, SearchSnapshot]
    dead_reasons: dict[str, int]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The table of answers."""
        return replay_frame(self.answers, self.snapshots)

    def scores(self) -> dict[tuple[str, str], Scores]:
        """Scores of the answers whose snapshots are labelled, by group (benign or attacked steps)
        and contender, the benign and the defended ones first.
        """
        labelled = self.frame.filter(
            (pl.col("truth").list.len() > 0) | pl.col("target").is_not_null()
        )
        attacked = pl.col("attack").is_not_null()
        group = pl.when(attacked).then(pl.lit("attacked")).otherwise(pl.lit("benign"))
        found = scores_by(labelled, group.alias("group"), "contender")
        order = [(group, side) for group in ("benign", "attacked") for side in SIDES]
        return {key: found[key] for key in order if key in found}

    def summary(self) -> dict[str, Any]:
        """The figures as plain values."""
        scores: dict[str, dict[str, Any]] = {}
        for (group, side), found in self.scores().items():
            scores.setdefault(group, dict.fromkeys(SIDES))[side] = _plain_rates(found)
        return {"run": asdict(self.run), "dead_letters": self.dead_reasons, "scores": scores}


def _plain_rates(scores: Scores) -> dict[str, Any]:
    """Accuracy and attack success by the definition in use, then all rates by their names."""
    rates = {"accuracy": scores.accuracy(), "attack_success": scores.attack_success()}
    rates |= {name: scores.of(name) for name in SCORED}
    return {
        name: {"hits": rate.hits, "trials": rate.trials, "interval": rate.interval}
        for name, rate in rates.items()
    }


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
    answers.sort(key=lambda answer: (order[answer.query_id], answer.step))
    return Results(run, answers, snapshots, _dead_reasons(directory))


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


def _dead_reasons(directory: Path) -> dict[str, int]:
    """The number of dead letters by reason, most frequent first."""
    letters = [json.loads(line)["data"]["reason"] for line in _lines_of(directory / DEAD_LETTERS)]
    return dict(Counter(letters).most_common())


def first_dead_letter(directory: Path) -> str:
    """Say in a few words why the first record in a run's dead letters is there, if there is one."""
    for line in _lines_of(directory / DEAD_LETTERS):
        letter = json.loads(line)["data"]
        where = f"{letter['source']} record {letter['position']}"
        return f"; the first dead letter: {where}: {letter['reason']}: {letter['detail']}"
    return ""


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
    html = render_report(results.answers, results.snapshots, results.run)
    file.write_text(html, encoding="utf-8")
    return file
