"""How answers follow a changing truth and an attack that comes and goes, step by step.

- recovery after an attack: steps from the first clean one until the answer is right again, 0 when
  it is right at once; the next attack ends the wait.
- recovery after a change: the same from the step at which the right answers differ from those of
  the step before, until the next change.
- a failed answer says nothing: waits do not count its step, as if it had not been asked.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from radarstream.lab.study.rates import QUESTION, Rate, rates_by, sound
from radarstream.lab.study.scoring import Definition

CELL = ("contender", "condition")
RATES = ("attacked", "accuracy", "attack_success", "stale")  # of a `Point`

Found = dict[tuple[Any, ...], Any]  # by contender and condition


@dataclass(frozen=True, slots=True)
class Recovery:
    """How often and how fast answers became right again; `mean_steps` is over the recovered."""

    events: int = 0
    recovered: int = 0
    mean_steps: float | None = None
    most_steps: int | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The answers of all questions at one step, from 0."""

    at: int
    answers: int
    attacked: Rate
    accuracy: Rate
    attack_success: Rate
    stale: Rate


@dataclass(frozen=True, slots=True)
class Dynamics:
    """One contender over time under one condition."""

    stale: Rate = Rate(0, 0)
    after_attack: Recovery = Recovery()
    after_change: Recovery = Recovery()
    by_step: tuple[Point, ...] = ()


def dynamics_by_cell(frame: pl.DataFrame, definition: Definition) -> dict[Any, Dynamics]:
    """The dynamics of every contender under every condition that has an answer."""
    answered = sound(frame).sort(*CELL, "query_id", "step")
    stale = definition.column("stale")
    attacked = pl.col("attack").is_not_null()
    before = attacked.shift(1)
    changes = pl.col("truth_key") != pl.col("truth_key").shift(1)  # null where one is unknown
    correct = definition.column("correct")
    found: dict[str, Found] = {
        "stale": {cell: found[stale] for cell, found in rates_by(answered, CELL, [stale]).items()},
        "after_attack": _recoveries(answered, before & ~attacked, attacked & ~before, correct),
        "after_change": _recoveries(answered, changes, changes, correct),
        "by_step": _points(answered, definition),
    }
    return {
        cell: Dynamics(**{name: held[cell] for name, held in found.items() if cell in held})
        for cell in found["stale"]
    }


def _recoveries(answered: pl.DataFrame, begins: pl.Expr, ends: pl.Expr, correct: str) -> Found:
    """Waiting times in steps from each event until a right answer or the end of the wait."""
    history = (*CELL, "query_id")
    begun = begins.fill_null(value=False).over(history).alias("begun")
    edge = (begins.fill_null(value=False) | ends.fill_null(value=False)).cast(int)
    waits = (
        answered.with_columns(begun, edge.cum_sum().over(history).alias("stretch"))
        .group_by(*history, "stretch", maintain_order=True)
        .agg(
            pl.col("begun").first(),
            pl.when(pl.col(correct).any())
            .then(pl.col(correct).fill_null(value=False).arg_max())
            .alias("wait"),
        )
        .filter("begun")
        .group_by(CELL)
        .agg(
            events=pl.len(),
            recovered=pl.col("wait").count(),
            mean_steps=pl.col("wait").mean(),
            most_steps=pl.col("wait").max(),
        )
    )
    return {row[:2]: Recovery(*row[2:]) for row in waits.rows()}


def _points(answered: pl.DataFrame, definition: Definition) -> Found:
    """The `Point`s of each cell in time order."""
    placed = answered.select(
        *CELL,
        QUESTION,
        "step",
        attacked=pl.col("attack").is_not_null(),
        accuracy=pl.col(definition.column("correct")),
        attack_success=pl.col(definition.column("fooled")),
        stale=pl.col(definition.column("stale")),
    ).sort("step", maintain_order=True)
    counts = {row[:3]: row[3] for row in placed.group_by(*CELL, "step").len().rows()}
    found: Found = {}
    for (*cell, step), rates in rates_by(placed, (*CELL, "step"), RATES).items():
        point = Point(step, counts[*cell, step], **rates)
        found[tuple(cell)] = (*found.get(tuple(cell), ()), point)
    return found
