"""The layout that most tables share: a row per contender, a column per condition."""

from collections.abc import Callable, Sequence

from pipelines.evaluation.experiment.scoreboard import Cell, Scoreboard
from pipelines.evaluation.experiment.table import Table, TableCell, TableRow


def by_condition(
    board: Scoreboard,
    key: str,
    title: str,
    show: Callable[[Cell], TableCell],
    notes: Sequence[str],
) -> Table:
    """A row per contender, a column per condition."""
    rows = tuple(
        TableRow(
            contender,
            tuple(show(cell) for cell in cells_of(board, contender)),
            contender == board.reference,
        )
        for contender in board.contenders
    )
    return Table(key, title, "defence", board.conditions, rows, tuple(notes))


def cells_of(board: Scoreboard, contender: str) -> list[Cell]:
    """A contender's cells in the order of the conditions."""
    return [cell for cell in board.cells if cell.contender == contender]
