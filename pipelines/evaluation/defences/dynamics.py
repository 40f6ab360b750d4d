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

from radarstream.pipelines.evaluation.rates import Rate, counts, rate_in, sound
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.schemas.verdict import MemoryDecision

CELL = ("contender", "condition")
BELIEFS = ("support_prior", "conflict_prior", "support_posterior", "conflict_posterior")

CellKey = tuple[str, str]


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


def dynamics_by_cell(frame: pl.DataFrame, definition: Definition) -> dict[CellKey, Dynamics]:
    """The dynamics of every contender under every condition that has an answer."""
    answered = sound(frame).sort(*CELL, "query_id", "step")
    stale = definition.column("stale")
    rates = answered.group_by(CELL).agg(counts([stale]))
    attacked, before = _attacked(), _attacked().shift(1)
    attack_stops = before & ~attacked
    truth, earlier = pl.col("truth_key"), pl.col("truth_key").shift(1)
    changes = truth != earlier  # null, and no change, where one of them is not known
    correct = definition.column("correct")
    after_attack = _recoveries(answered, attack_stops, attacked & ~before, correct)
    after_change = _recoveries(answered, changes, changes, correct)
    by_step = _points(answered, pl.col("step"), definition)
    by_year = _points(answered, pl.col("observed_at").dt.year(), definition)
    return {
        (key := (row["contender"], row["condition"])): Dynamics(
            stale=rate_in(row, stale),
            after_attack=after_attack.get(key, Recovery()),
            after_change=after_change.get(key, Recovery()),
            by_step=tuple(by_step[key]),
            by_year=tuple(by_year[key]),
        )
        for row in rates.rows(named=True)
    }


def _attacked() -> pl.Expr:
    return pl.col("attack").is_not_null()


def _recoveries(
    answered: pl.DataFrame, begins: pl.Expr, ends: pl.Expr, correct: str
) -> dict[CellKey, Recovery]:
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


def _points(
    answered: pl.DataFrame, at: pl.Expr, definition: Definition
) -> dict[CellKey, list[Point]]:
    """One point per place in time, by cell, in time order."""
    memory = pl.col("memory")
    decided = memory.is_in([MemoryDecision.RETAINED.value, MemoryDecision.FALSIFIED.value])
    rates = [definition.column(name) for name in ("correct", "fooled", "stale")]
    grouped = (
        answered.with_columns(
            at=at.cast(int),
            attacked=_attacked(),
            retained=pl.when(decided).then(memory == MemoryDecision.RETAINED.value),
        )
        .group_by(*CELL, "at")
        .agg(
            pl.len().alias("answers"),
            *counts(["attacked", *rates, "retained"]),
            *(pl.col(name).mean() for name in BELIEFS),
        )
        .sort("at")
    )
    found: dict[CellKey, list[Point]] = {}
    for row in grouped.rows(named=True):
        found.setdefault((row["contender"], row["condition"]), []).append(_point(row, rates))
    return found


def _point(row: dict[str, Any], rates: list[str]) -> Point:
    accuracy, attack_success, stale = (rate_in(row, name) for name in rates)
    return Point(
        at=row["at"],
        answers=row["answers"],
        attacked=rate_in(row, "attacked"),
        accuracy=accuracy,
        attack_success=attack_success,
        stale=stale,
        retained=rate_in(row, "retained"),
        **{name: row[name] for name in BELIEFS},
    )
