"""How answers follow a changing truth and an attack that comes and goes, step by step.

- recovery after an attack: steps from the first clean one until the answer is right again, 0 when
  it is right at once; the next attack ends the wait.
- recovery after a change: the same from the step at which the right answers differ from those of
  the step before, until the next change.
- a failed answer says nothing: waits do not count its step, as if it had not been asked.
- belief: means of the memory node's prior (pi_S, pi_F) and posterior (S_old, F_old; RADAR, Eq.
  11-16).
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from radarstream.pipelines.evaluation.rates import QUESTION, Rate, rates_by, sound
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.schemas.verdict import MemoryDecision

CELL = ("contender", "condition")
RATES = ("attacked", "accuracy", "attack_success", "stale", "retained")  # of a `Point`
BELIEFS = ("support_prior", "conflict_prior", "support_posterior", "conflict_posterior")

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
    """The answers of all questions at one step (from 0) or in one year.

    Beliefs are means over the steps with a previous answer, None without any.
    """

    at: int
    answers: int
    attacked: Rate
    accuracy: Rate
    attack_success: Rate
    stale: Rate
    retained: Rate
    support_prior: float | None
    conflict_prior: float | None
    support_posterior: float | None
    conflict_posterior: float | None


@dataclass(frozen=True, slots=True)
class Dynamics:
    """One contender over time under one condition."""

    stale: Rate = Rate(0, 0)
    after_attack: Recovery = Recovery()
    after_change: Recovery = Recovery()
    by_step: tuple[Point, ...] = ()
    by_year: tuple[Point, ...] = ()


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
        "by_step": _points(answered, pl.col("step"), definition),
        "by_year": _points(answered, pl.col("observed_at").dt.year(), definition),
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


def _points(answered: pl.DataFrame, at: pl.Expr, definition: Definition) -> Found:
    """The `Point`s of each cell in time order."""
    memory = pl.col("memory")
    decided = memory.is_in([MemoryDecision.RETAINED.value, MemoryDecision.FALSIFIED.value])
    placed = answered.select(
        *CELL,
        QUESTION,
        *BELIEFS,
        at=at.cast(int),
        attacked=pl.col("attack").is_not_null(),
        accuracy=pl.col(definition.column("correct")),
        attack_success=pl.col(definition.column("fooled")),
        stale=pl.col(definition.column("stale")),
        retained=pl.when(decided).then(memory == MemoryDecision.RETAINED.value),
    ).sort("at", maintain_order=True)
    rates = rates_by(placed, (*CELL, "at"), RATES)
    means = placed.group_by(*CELL, "at", maintain_order=True).agg(
        pl.len().alias("answers"), pl.col(*BELIEFS).mean()
    )
    found: Found = {}
    for row in means.to_dicts():
        contender, condition, at_ = row.pop("contender"), row.pop("condition"), row["at"]
        point = Point(**(row | rates[contender, condition, at_]))
        found[contender, condition] = (*found.get((contender, condition), ()), point)
    return found
