"""`radarstream report`: render the report of a replay, an experiment or a study again."""

from pathlib import Path
from typing import Annotated

import typer

from radarstream.pipelines.cli.evaluation_tables import print_headline
from radarstream.pipelines.cli.run_files import read_results, write_report
from radarstream.pipelines.cli.terminal import print_path
from radarstream.pipelines.evaluation.attribution.records import (
    StudyRecord,
    read_events,
)
from radarstream.pipelines.evaluation.attribution.records import read_record as read_study
from radarstream.pipelines.evaluation.attribution.records import read_rows as read_study_rows
from radarstream.pipelines.evaluation.attribution.results import results_of
from radarstream.pipelines.evaluation.experiment.files import (
    read_evidence,
    read_judgements,
    read_record,
    read_rows,
)
from radarstream.pipelines.evaluation.experiment.records import EvidenceRow, ExperimentRecord, Row
from radarstream.pipelines.evaluation.experiment.scores import score_cells
from radarstream.pipelines.evaluation.frame import study_frame
from radarstream.pipelines.evaluation.study.record import kind_of
from radarstream.pipelines.pages.attribution.page import write_study_page
from radarstream.pipelines.pages.attribution.view import study_view
from radarstream.pipelines.pages.defences.page import write_experiment_report
from radarstream.pipelines.pages.defences.view import build_view


def report(
    directory: Annotated[
        Path,
        typer.Argument(help="What --out named."),
    ],
) -> None:
    """Render the HTML report of a replay, an experiment or a study of attributors again."""
    study = read_study(directory) if kind_of(directory) == "attribution" else None
    if study is not None:
        print_path("report", write_study_report(directory, study))
        return
    record = read_record(directory)
    if record is None:
        print_path("report", write_report(directory, read_results(directory)))
        return
    rows = [row for row in read_rows(directory).values() if counts(row, record)]
    evidence = [seen for seen in read_evidence(directory).values() if counts(seen, record)]
    frame = study_frame(rows, record, evidence, read_judgements(directory))
    view = build_view(record, rows, evidence, score_cells(frame, record), frame)
    print_headline(view.headline)
    print_path("report", write_experiment_report(directory, view))


def write_study_report(directory: Path, record: StudyRecord) -> Path:
    """Render what a study found."""
    events = list(read_events(directory).values())
    rows = list(read_study_rows(directory).values())
    names = [spec.name for spec in record.attributors]
    results = results_of(events, rows, names, record.scenarios, seed=record.seed)
    return write_study_page(directory, study_view(record, events, rows, results))


def counts(line: Row | EvidenceRow, record: ExperimentRecord) -> bool:
    """Whether a line is of a question that was asked last."""
    return not record.asked or line.query_id in record.asked
