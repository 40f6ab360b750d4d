"""The tables of a scoreboard; see `table` for what a table is and how Markdown shows it."""

from radarstream.pipelines.evaluation.defences.comparison_tables import (
    attacked_steps_table,
    differences_table,
    exclusive_rates_table,
    other_rates_table,
    rates_table,
)
from radarstream.pipelines.evaluation.defences.quantity_tables import (
    context_table,
    cost_table,
    dynamics_table,
    judged_table,
    overlap_table,
    storage_table,
)
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.pipelines.evaluation.table import Table


def tables_of(board: Scoreboard) -> tuple[Table, ...]:
    """Every table that the scoreboard has something for, the most wanted first."""
    found = [rates_table(board), differences_table(board), cost_table(board)]
    if not board.static:
        found += [dynamics_table(board), storage_table(board)]
    found += [other_rates_table(board), exclusive_rates_table(board), overlap_table(board)]
    if any(cell.judged for cell in board.cells):
        found += [judged_table(board)]
    if any(cell.context for cell in board.cells):
        found += [context_table(board)]
    if any(cell.on_attacked_steps for cell in board.cells):
        found.insert(1, attacked_steps_table(board))
    return tuple(found)
