"""A run's directory: what `replay` writes there and what `report` reads back."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

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
            scores.setdefault(group, dict.fromkeys(SIDES))[side] = plain_rates(found)
        return {"run": asdict(self.run), "dead_letters": self.dead_reasons, "scores": scores}


def plain_rates(scores: Scores) -> dict[str, Any]:
    """Accuracy and attack success by the definition that counts, then all rates by their names."""
    rates = {"accuracy": scores.accuracy(), "attack_success": scores.attack_success()}
    rates |= {name: scores.of(name) for name in SCORED}
    return {
        name: {"hits": rate.hits, "trials": rate.trials, "interval": rate.interval}
        for name, rate in rates.items()
    }


def read_results(directory: Path) -> Results:
    """Read a run back. Raises ConfigurationError when the directory holds none that is finished."""
    snapshots = {}
    for number, line in enumerate(lines_of(directory / SNAPSHOTS), start=1):
        record = RawRecord(SNAPSHOTS, number, line)
        with damage_named(directory / SNAPSHOTS, number):
            snapshot = decode_record(record, limits=UNLIMITED, now=None)
        snapshots[snapshot.id] = snapshot
    run = read_run(directory / RUN)
    if not run.finished:
        raise ConfigurationError(
            f"{directory} holds no finished replay: its command with --resume goes on from there"
        )
    order = {query_id: place for place, query_id in enumerate(query_order(snapshots))}
    answers = []
    for number, line in enumerate(lines_of(directory / ANSWERS), start=1):
        with damage_named(directory / ANSWERS, number):
            answers.append(decode_answer(line))
    answers = [answer for answer in answers if answer.snapshot_id in snapshots]
    answers.sort(key=lambda answer: (order[answer.query_id], answer.step))
    return Results(run, answers, snapshots, dead_reasons(directory))


@contextmanager
def damage_named(file: Path, number: int) -> Iterator[None]:
    """Turn the refusal of one of our own lines into a ConfigurationError that says which."""
    try:
        yield
    except InputError as error:
        raise ConfigurationError(
            f"{file} line {number} is damaged ({error}); replay again"
        ) from None


def query_order(snapshots: dict[str, SearchSnapshot]) -> list[str]:
    """Return query ids in the order in which the input first names them."""
    return list(dict.fromkeys(snapshot.query.id for snapshot in snapshots.values()))


def lines_of(file: Path) -> Iterator[bytes]:
    """Yield a file's lines; ConfigurationError if there is no such file."""
    try:
        with file.open("rb") as stream:
            yield from stream
    except FileNotFoundError:
        raise ConfigurationError(
            f"{file.parent} holds no finished replay: no {file.name}"
        ) from None


def dead_reasons(directory: Path) -> dict[str, int]:
    """Count a run's dead letters by reason, most frequent first."""
    letters = [json.loads(line)["data"]["reason"] for line in lines_of(directory / DEAD_LETTERS)]
    return dict(Counter(letters).most_common())


def first_dead_letter(directory: Path) -> str:
    """Say in a few words why the first record in a run's dead letters is there, if there is one."""
    for line in lines_of(directory / DEAD_LETTERS):
        letter = json.loads(line)["data"]
        where = f"{letter['source']} record {letter['position']}"
        return f"; the first dead letter: {where}: {letter['reason']}: {letter['detail']}"
    return ""


def count_lines(file: Path) -> int:
    """Count a file's lines."""
    return sum(1 for _ in lines_of(file))


def write_run(directory: Path, run: RunRecord) -> None:
    """Store what the run was beside its results."""
    write_json(directory / RUN, asdict(run))


def read_run(file: Path) -> RunRecord:
    """Read what the run was."""
    try:
        return TypeAdapter(RunRecord).validate_json(b"".join(lines_of(file)))
    except ValidationError as error:
        raise ConfigurationError(f"{file} is damaged: {error.errors()[0]['msg']}") from None


def write_report(directory: Path, results: Results) -> Path:
    """Render the HTML report beside the results."""
    file = directory / REPORT
    html = render_report(results.answers, results.snapshots, results.run)
    file.write_text(html, encoding="utf-8")
    return file
