"""The result of one contender under one condition, in studies whose rows are scored by columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from radarstream.pipelines.evaluation.comparison import Cell, Difference
from radarstream.pipelines.evaluation.frame import mean_of_all
from radarstream.pipelines.evaluation.rates import Rate, rates_by, sound
from radarstream.pipelines.evaluation.study.rows import COST

Cells = Mapping[Cell, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Result:
    """`rows` are those without an error, `errors` the others, which are scored nowhere.

    `rates` and `means` are by column of the table; a cost that some row does not know has no mean.
    `differences` are to the reference on the same questions, by column.
    """

    contender: str
    condition: str
    rows: int
    errors: int
    rates: dict[str, Rate]
    means: dict[str, float | None]
    differences: dict[str, Difference]


def by_cell(frame: pl.DataFrame, column: str = "condition") -> Cells:
    """The rows of each contender under each condition."""
    parts = frame.partition_by("contender", column, as_dict=True, maintain_order=True)
    return {(str(name), str(condition)): part for (name, condition), part in parts.items()}


def results_by(
    cells: Cells,
    keys: Iterable[Cell],
    rates: Sequence[str],
    means: Sequence[str],
    differences: Mapping[Cell, dict[str, Difference]],
) -> tuple[Result, ...]:
    """The results of cells, with the rates and means of columns."""
    return tuple(result_of(k, cells[k], rates, means, differences.get(k, {})) for k in keys)


def result_of(
    key: Cell,
    lines: pl.DataFrame,
    rates: Sequence[str],
    means: Sequence[str],
    differences: dict[str, Difference],
) -> Result:
    """The result of one cell."""
    held = sound(lines)
    found = rates_by(held, (pl.lit(0),), rates).get((0,), dict.fromkeys(rates, Rate(0, 0)))
    columns = [mean_of_all(name) if name in COST else pl.col(name).mean() for name in means]
    mean = held.select(columns).row(0, named=True)
    return Result(*key, held.height, lines.height - held.height, found, mean, differences)
