"""The result of one contender under one condition, in studies whose rows are scored by columns, and
how it is shown in tables.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from typing import Final, Literal

import polars as pl

from radarstream.lab.study.comparison import Cell, Difference, differences
from radarstream.lab.study.frame import mean_of_all, pooled
from radarstream.lab.study.rates import Rate, rates_by, sound
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import BENIGN, COST
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, number, percent, points

ATTACKS: Final = "all attacks"  # the group of all conditions with an attack
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

    key = property(attrgetter("contender", "condition"))


@dataclass(frozen=True, slots=True)
class Scoring:
    """Columns of a table: those whose rates and means are results, those that are compared with
    the reference, and of these the ones that mean something under attack alone.
    """

    rates: Sequence[str] = ()
    means: Sequence[str] = ()
    compared: Sequence[str] = ()
    of_attacks: Collection[str] = ()


@dataclass(frozen=True, kw_only=True)
class Results:
    """All cells. Their conditions are those of `groups`: conditions, and several together. The
    methods are in the order of the record; differences are to the `reference`.
    """

    methods: tuple[str, ...]
    groups: tuple[str, ...]
    reference: str
    cells: tuple[Result, ...]

    @property
    def whole(self) -> str:
        """All attacks together, or the only one, or the last condition."""
        return ATTACKS if ATTACKS in self.groups else self.groups[-1]

    @property
    def attacked(self) -> list[str]:
        """The groups with an attack, the largest first."""
        found = [group for group in self.groups if group not in (BENIGN, ATTACKS)]
        return [ATTACKS, *found] if ATTACKS in self.groups else found

    @property
    def alone(self) -> list[Result]:
        """The cells of single conditions."""
        return [cell for cell in self.cells if cell.condition != ATTACKS]

    def cell(self, contender: str, condition: str) -> Result | None:
        """The cell of a method and a condition; None where there is none."""
        return next((c for c in self.cells if c.key == (contender, condition)), None)

    def on(self, *groups: str) -> list[Result]:
        """The cells of some groups."""
        return [cell for cell in self.cells if cell.condition in groups]


def groups_of(conditions: Iterable[str]) -> Groups:
    """Every condition by itself, and all attacks together where there are several."""
    named = list(conditions)
    attacks = [name for name in named if name != BENIGN]
    return {name: [name] for name in named} | ({ATTACKS: attacks} if len(attacks) > 1 else {})


def grouped(frame: pl.DataFrame, groups: Groups) -> Cells:
    """The rows of each contender in each group of conditions."""
    found: dict[Cell, pl.DataFrame] = {}
    for group, conditions in groups.items():
        mine = frame.filter(pl.col("condition").cast(pl.String).is_in(list(conditions)))
        parts = mine.partition_by("contender", as_dict=True, maintain_order=True)
        found |= {(str(name), group): part for (name,), part in parts.items()}
    return found


def scored_cells(
    cells: Cells, record: StudyRecord, scoring: Scoring, *, static: bool = False
) -> tuple[Result, ...]:
    """The results of cells, in the order of groups and then of methods. Holm's correction takes all
    conditions of a column as one family, and all attacks together as another, since these are the
    same answers again. `static` says that a question has one answer under a condition.
    """
    order = {name: place for place, name in enumerate(record.names)}
    groups = dict.fromkeys(group for _, group in cells)
    keys = [(name, group) for group in groups for name in order if (name, group) in cells]
    found: dict[Cell, dict[str, Difference]] = {}
    for column, whole in product(scoring.compared, (False, True)):
        family = [
            key
            for key in keys
            if (key[1] == ATTACKS) is whole
            and not (column in scoring.of_attacks and key[1] == BENIGN)
            and key[0] != record.reference
            and (record.reference, key[1]) in cells
            and cells[key][column].count()
        ]
        pairs = [(cells[key], cells[record.reference, key[1]]) for key in family]
        moved = differences(pairs, column, static=static and not whole, seed=record.seed)
        for key, difference in zip(family, moved, strict=True):
            found.setdefault(key, {})[column] = difference
    return tuple(_result(key, cells[key], scoring, found.get(key, {})) for key in keys)


def _result(
    key: Cell, lines: pl.DataFrame, scoring: Scoring, moved: dict[str, Difference]
) -> Result:
    held, nothing = sound(lines), dict.fromkeys(scoring.rates, Rate(0, 0))
    rates = rates_by(held, (pl.lit(0),), scoring.rates).get((0,), nothing)
    means = [mean_of_all(name) if name in COST else pl.col(name).mean() for name in scoring.means]
    mean = held.select(means).row(0, named=True) if means else {}
    return Result(*key, held.height, lines.height - held.height, rates, mean, moved)


def with_texts(
    results: Iterable[Result], texts: Iterable[Result], rates: Sequence[str]
) -> tuple[Result, ...]:
    """The results, with rates over the texts of their rows and the differences of these."""
    more = {one.key: (one.rates, one.differences) for one in texts}
    nothing = dict.fromkeys(rates, Rate(0, 0)), dict[str, Difference]()
    found = ((one, *more.get(one.key, nothing)) for one in results)
    return tuple(
        replace(one, rates=one.rates | of_texts, differences=one.differences | moved)
        for one, of_texts, moved in found
    )


def grid(
    table: Table,
    results: Iterable[Result],
    show: Callable[[Result], TableCell],
    marked_rows: Collection[str] = (),
    by: Literal["condition", "contender"] = "condition",
) -> Table:
    """The table with a row per condition or group of conditions and a column per contender, or `by`
    contender the other way round; `marked_rows` stand out.
    """
    held = list(results)
    most: dict[str, int] = {}
    for one in held:
        most[one.condition] = max(one.rows, most.get(one.condition, 0))
    names = [(c.condition, c.contender) if by == "condition" else (c.contender, c.condition)
             for c in held]  # fmt: skip
    shown = {
        name: failing(one, show(one), fewer=one.rows < most[one.condition])
        for name, one in zip(names, held, strict=True)
    }
    rows = (
        TableRow(
            row,
            tuple(shown.get((row, column), TableCell(NOTHING)) for column in table.columns),
            row in marked_rows,
        )
        for row in dict.fromkeys(row for row, _ in names)
    )
    return replace(table, rows=tuple(rows))


def cost_table(
    cells: Iterable[Result],
    title: str,
    corner: str,
    results: Results,
    counted: Mapping[str, str],
    notes: Sequence[str],
) -> Table:
    """Seconds, then the counts of some quantities: means over all rows of each contender. `counted`
    are columns of the cost by their heads.
    """
    rows, held = [], list(cells)
    for name in results.methods:
        if mean := pooled((one.means, one.rows) for one in held if one.contender == name):
            shown = (
                TableCell(number(mean[column], 2 if "seconds" in column else 1), value=mean[column])
                for column in ("seconds", *counted.values())
            )
            rows.append(TableRow(name, tuple(shown), name == results.reference))
    return Table("cost", title, corner, ("seconds", *counted), tuple(rows), tuple(notes))


def failing(cell: Result, shown: TableCell, *, fewer: bool = False) -> TableCell:
    """What is shown of a cell, with the rows that failed if there are some, and how many are left
    where others of the condition have more.
    """
    more = [f"n={cell.rows}"] * fewer + [f"{cell.errors} failed"] * (cell.errors > 0)
    return replace(shown, detail="; ".join(filter(None, [shown.detail, *more])))


def rate_cell(cell: Result, column: str) -> TableCell:
    """A rate with its interval and its difference to the reference."""
    shown = plain_cell(cell.rates[column])
    change = cell.differences.get(column)
    if change is None or change.value is None:
        return shown
    return replace(shown, detail=f"{shown.detail}; {change_of(change)}")


def rates_cell(*columns: str) -> Callable[[Result], TableCell]:
    """Several rates side by side, marked where they differ from the reference, with their intervals
    and then their differences.
    """

    def show(cell: Result) -> TableCell:
        rates = [cell.rates[name] for name in columns]
        moved = [cell.differences.get(name) for name in columns]
        told = (percent(r) + marked(d) for r, d in zip(rates, moved, strict=True))
        spans = " / ".join(span(rate) for rate in rates if rate.trials)
        changes = [change_of(d) for d in moved if d is not None and d.value is not None]
        detail = "; ".join([*([f"[{spans}]"] if spans else []), *changes])
        return TableCell("/".join(told), detail, rates[0].value)

    return show


def plain_cell(rate: Rate) -> TableCell:
    """A rate with its interval."""
    if rate.value is None:
        return TableCell(NOTHING)
    return TableCell(percent(rate), f"[{span(rate)}]", rate.value)


def mean_cell(cell: Result, column: str, decimals: int = 3) -> TableCell:
    """A mean, with its difference to the reference where it is compared, then in [0, 1]."""
    value, change = cell.means[column], cell.differences.get(column)
    told = "" if change is None or change.value is None else change_of(change)
    return TableCell(number(value, decimals), told, value)


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
