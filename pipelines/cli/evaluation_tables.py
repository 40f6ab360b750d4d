"""An experiment on the terminal: accuracy and attack success of every contender, then the cost."""

from dataclasses import asdict

from rich import box
from rich.table import Table as RichTable

from pipelines.cli.terminal import cell, print_json, print_path, printable, stdout
from pipelines.evaluation.experiment.experiment import Experiment
from pipelines.evaluation.experiment.scoreboard import Scoreboard
from pipelines.evaluation.experiment.table import Table
from pipelines.evaluation.experiment.tables import tables_of

SHOWN = ("rates_contains", "rates_on_attacked_steps", "judged", "dynamics", "cost")


def print_experiment(experiment: Experiment, board: Scoreboard, *, as_json: bool) -> None:
    """Print what a person wants to see first."""
    if as_json:
        print_json({"record": asdict(experiment.record), "results": asdict(board)})
        return
    for table in tables_of(board):
        if table.key in SHOWN:
            stdout.print(drawn(table))
            for note in table.notes:
                stdout.print(printable(note, 1_000), style="dim", markup=False, highlight=False)
    print_path("report", experiment.out / "report.html")


def drawn(table: Table) -> RichTable:
    """The table for a terminal; its reference is bold."""
    shown = RichTable(title=printable(table.title), box=box.SIMPLE_HEAD, header_style="bold")
    shown.add_column(printable(table.corner))
    for column in table.columns:
        shown.add_column(cell(column))
    for row in table.rows:
        words = (cell(str(entry)) for entry in row.cells)
        shown.add_row(cell(row.heading), *words, style="bold" if row.reference else "")
    return shown
