"""How answers follow a changing truth and an attack that comes and goes, step by step.

Recovery is the number of steps from the first one without an attack, or from a change of the right
answers, until the answer is right again, 0 when it is right at once; the next attack or change ends
the wait. Waits do not count the step of a failed answer, as if it had not been asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from radarstream.lab.study.comparison import Cell
from radarstream.lab.study.rates import Rate, rates_by, sound

CELL = ("contender", "condition")
RATES = ("correct", "fooled", "stale")  # of a `Step`


@dataclass(frozen=True, slots=True)
class Recovery:
    """How often and how fast answers became right again; `mean_steps` is over the recovered."""

    events: int = 0
    recovered: int = 0
    mean_steps: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The answers of all questions at one step, from 0."""

    at: int
    rates: dict[str, Rate]


@dataclass(frozen=True, slots=True)
class Dynamics:
    """One contender over time under one condition."""

    contender: str
    condition: str
    after_attack: Recovery
    after_change: Recovery
    steps: tuple[Step, ...]


def dynamics_of(frame: pl.DataFrame, cells: Sequence[Cell]) -> tuple[Dynamics, ...]:
    """The dynamics of cells."""
    answered = sound(frame).sort(*CELL, "query_id", "step")
    attacked = pl.col("attack").is_not_null()
    before = attacked.shift(1)
    changes = pl.col("truth_key") != pl.col("truth_key").shift(1)  # null where one is unknown
    after_attack = _recoveries(answered, before & ~attacked, attacked & ~before)
    after_change = _recoveries(answered, changes, changes)
    steps: dict[Any, list[Step]] = {}
    by = (*CELL, "step")
    for (*cell, at), rates in sorted(rates_by(answered, by, RATES).items(), key=lambda i: i[0][2]):
        steps.setdefault(tuple(cell), []).append(Step(at, rates))
    none = Recovery()
    return tuple(
        Dynamics(*c, after_attack.get(c, none), after_change.get(c, none), tuple(steps.get(c, ())))
        for c in cells
    )


def _recoveries(answered: pl.DataFrame, begins: pl.Expr, ends: pl.Expr) -> dict[Cell, Recovery]:
    """Waiting times in steps from each event until a right answer or the end of the wait."""
    history = (*CELL, "query_id")
    begun = begins.fill_null(value=False).over(history).alias("begun")
    edge = (begins.fill_null(value=False) | ends.fill_null(value=False)).cast(int)
    right = pl.col("correct")
    waits = (
        answered.with_columns(begun, edge.cum_sum().over(history).alias("stretch"))
        .group_by(*history, "stretch", maintain_order=True)
        .agg(
            pl.col("begun").first(),
            wait=pl.when(right.any()).then(right.fill_null(value=False).arg_max()),
        )
        .filter("begun")
        .group_by(CELL)
        .agg(
            events=pl.len(),
            recovered=pl.col("wait").count(),
            mean_steps=pl.col("wait").mean(),
        )
    )
    return {(name, condition): Recovery(*row) for name, condition, *row in waits.rows()}
