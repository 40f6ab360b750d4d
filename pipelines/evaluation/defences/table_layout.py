"""The layout that most tables share: a row per contender, a column per condition."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard, Summary
from radarstream.pipelines.evaluation.table import Table, TableCell, TableRow


def by_condition(
    board: Scoreboard,
    key: str,
    title: str,
    show: Callable[[Summary], TableCell],
    notes: Sequence[str],
    *,
    counted: bool = True,
) -> Table:
    """A row per contender, a column per condition.

    `counted` tables say how many answers a cell has that has fewer than others of its column.
    """

    def shown(cell: Summary) -> TableCell:
        found = show(cell)
        if not (counted and cell.answers and fewer(board, cell)):
            return found
        return replace(found, detail=f"{found.detail}; n={cell.answers}".removeprefix("; "))

    rows = tuple(
        TableRow(
            contender,
            tuple(shown(cell) for cell in cells_of(board, contender)),
            contender == board.reference,
        )
        for contender in board.contenders
    )
    if counted and any(cell.answers and fewer(board, cell) for cell in board.cells):
        notes = (*notes, "n: how many answers, where others of the column have more.")
    return Table(key, title, "defence", board.conditions, rows, tuple(notes))


def fewer(board: Scoreboard, cell: Summary) -> bool:
    """Whether a cell has fewer answers than another of its condition."""
    return any(
        other.condition == cell.condition and other.answers > cell.answers for other in board.cells
    )


def cells_of(board: Scoreboard, contender: str) -> list[Summary]:
    """A contender's cells in the order of the conditions."""
    return [cell for cell in board.cells if cell.contender == contender]
