"""The result of one contender under one condition, in studies whose rows are scored by columns, and
how it is shown in tables.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from radarstream.lab.study.comparison import Cell, Difference
from radarstream.lab.study.frame import mean_of_all, pooled
from radarstream.lab.study.rates import Rate, rates_by, sound
from radarstream.lab.study.rows import COST
from radarstream.lab.study.table import (
    NOTHING,
    Table,
    TableCell,
    TableRow,
    number,
    percent,
    points,
)

MARK: Final = "†"  # of a significant difference
Cells = Mapping[Cell, pl.DataFrame]
Groups = Mapping[str, Collection[str]]  # names of groups, and the conditions of each


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
    mean = held.select(columns).row(0, named=True) if columns else {}
    return Result(*key, held.height, lines.height - held.height, found, mean, differences)


def grouped(frame: pl.DataFrame, groups: Groups) -> Cells:
    """The rows of each contender in each group of conditions."""
    found: dict[Cell, pl.DataFrame] = {}
    for group, conditions in groups.items():
        mine = frame.filter(pl.col("condition").is_in(list(conditions)))
        parts = mine.partition_by("contender", as_dict=True, maintain_order=True)
        found |= {(str(name), group): part for (name,), part in parts.items()}
    return found


def with_texts(results: Iterable[Result], texts: Cells, rates: Sequence[str]) -> tuple[Result, ...]:
    """The results, with rates over the texts of their rows besides."""
    found = []
    for one in results:
        key = one.contender, one.condition
        more = dict.fromkeys(rates, Rate(0, 0))
        if key in texts:
            more = result_of(key, texts[key], rates, (), {}).rates
        found.append(replace(one, rates=one.rates | more))
    return tuple(found)


def grid(
    table: Table,
    results: Iterable[Result],
    show: Callable[[Result], TableCell],
    whole: Collection[str] = (),
) -> Table:
    """The table with a row per group of conditions, a column per contender; groups of several
    conditions, `whole`, stand out.
    """
    cells = {(one.condition, one.contender): one for one in results}
    rows = []
    for group in dict.fromkeys(group for group, _ in cells):
        found = [cells.get((group, name)) for name in table.columns]
        shown = tuple(TableCell(NOTHING) if c is None else failing(c, show(c)) for c in found)
        rows.append(TableRow(group, shown, group in whole))
    return replace(table, rows=tuple(rows))


def cost_rows(
    results: Sequence[Result], contenders: Iterable[str], counted: Sequence[str], reference: str
) -> tuple[TableRow, ...]:
    """Seconds, then the counts of some quantities: means over all rows of each contender."""
    rows = []
    for name in contenders:
        mean = pooled((one.means, one.rows) for one in results if one.contender == name)
        if mean:
            seconds = TableCell(number(mean["seconds"], 2), value=mean["seconds"])
            counts = (TableCell(number(mean[column], 1)) for column in counted)
            rows.append(TableRow(name, (seconds, *counts), name == reference))
    return tuple(rows)


def failing(cell: Result, shown: TableCell) -> TableCell:
    """What is shown of a cell, with the rows that failed if there are some."""
    if not cell.errors:
        return shown
    return replace(shown, detail=f"{shown.detail}; {cell.errors} failed".lstrip("; "))


def rate_cell(cell: Result, column: str) -> TableCell:
    """A rate with its interval and its difference to the reference."""
    shown = plain_cell(cell.rates[column])
    change = cell.differences.get(column)
    if change is None or change.value is None:
        return shown
    return replace(shown, detail=f"{shown.detail}; {change_of(change)}")


def plain_cell(rate: Rate) -> TableCell:
    """A rate with its interval."""
    if rate.value is None:
        return TableCell(NOTHING)
    return TableCell(percent(rate), f"[{span(rate)}]", rate.value)


def mean_cell(cell: Result, column: str) -> TableCell:
    """A mean in [0, 1] with its difference to the reference."""
    value, change = cell.means[column], cell.differences.get(column)
    told = "" if change is None or change.value is None else change_of(change)
    return TableCell(number(value, 3), told, value)


def change_of(change: Difference) -> str:
    """A difference with its interval, marked where it is significant."""
    low, high = change.low or 0.0, change.high or 0.0
    moved = points(change.value, change.pairs)
    return f"Δ {moved} [{100 * low:+.0f} to {100 * high:+.0f}]{marked(change)}"


def marked(change: Difference | None) -> str:
    """The mark of a significant difference."""
    return MARK if change is not None and change.significant else ""


def span(rate: Rate) -> str:
    """The interval of a rate in percent."""
    return "-".join(f"{100 * end:.0f}" for end in rate.interval)
