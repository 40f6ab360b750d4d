"""`radarstream report`: render the report of a finished replay or experiment again."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.run_files import read_results, write_report
from pipelines.cli.terminal import print_path
from pipelines.evaluation.experiment.row_files import read_evidence, read_record, read_rows
from pipelines.evaluation.experiment.scores import score_cells
from pipelines.evaluation.experiment_report import write_experiment_report


def report(
    directory: Annotated[Path, typer.Argument(help="The --out directory of a replay or evaluate.")],
) -> None:
    """Render the HTML report of a finished replay or experiment again."""
    record = read_record(directory)
    if record is None:
        print_path("report", write_report(directory, read_results(directory)))
        return
    rows = list(read_rows(directory).values())
    evidence = read_evidence(directory).values()
    board = score_cells(rows, record)
    print_path("report", write_experiment_report(directory, record, rows, evidence, board))
