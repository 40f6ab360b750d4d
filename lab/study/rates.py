"""Rates of answers with their intervals, computed from the table of answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from radarstream.lab.study.intervals import Clustered, Interval, exact_interval
from radarstream.lab.study.scoring import Definition

QUESTION = "query_id"  # the column whose values are the clusters
SCORED = (
    "abstained",
    "correct",
    "fooled",
    "contained_correct",
    "contained_fooled",
    "exclusive_correct",
    "exclusive_fooled",
)


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` of `trials`. `effective` is as how many independent trials these count, where some of
    them share a question; None where none do. Two rates are equal if their counts are.
    """

    hits: int
    trials: int
    effective: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.trials:
            raise ValueError(f"need 0 <= hits <= trials, got {self.hits} of {self.trials}")

    @property
    def value(self) -> float | None:
        """The share of hits in [0, 1]; None without trials."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> Interval:
        """The 95 % interval (see `intervals`); (0, 1) without trials."""
        effective = self.trials if self.effective is None else self.effective
        low, high = exact_interval(self.value or 0.0, effective).tolist()
        return low, high


@dataclass(frozen=True, slots=True)
class Scores:
    """Rates of one group of answers, by both definitions of `scoring` and by ProGRank's.

    Errors are left out. Rates of correct answers need a truth, those of fooled ones a target;
    abstentions stay in the denominator.
    """

    steps: int
    abstained: Rate
    correct: Rate
    fooled: Rate
    contained_correct: Rate
    contained_fooled: Rate
    exclusive_correct: Rate
    exclusive_fooled: Rate

    def accuracy(self, definition: Definition = Definition.WHOLE_WORDS) -> Rate:
        """The share of correct answers."""
        return self.of(definition.column("correct"))

    def attack_success(self, definition: Definition = Definition.WHOLE_WORDS) -> Rate:
        """The share of fooled answers."""
        return self.of(definition.column("fooled"))

    def of(self, column: str) -> Rate:
        """The rate of a column of the table of answers."""
        found: Rate = getattr(self, column)
        return found


NO_SCORES = Scores(0, *[Rate(0, 0)] * len(SCORED))


def sound(frame: pl.DataFrame) -> pl.DataFrame:
    """The answers that did not fail."""
    return frame.filter(pl.col("error").is_null())


def rate_in(frame: pl.DataFrame, column: str) -> Rate:
    """The rate of a column of yes and no over all of a frame; null is no trial."""
    found = rates_by(frame, (pl.lit(0),), (column,))
    return found[0,][column] if found else Rate(0, 0)


def rates_by(
    frame: pl.DataFrame, by: Sequence[str | pl.Expr], columns: Sequence[str]
) -> dict[tuple[Any, ...], dict[str, Rate]]:
    """The rates of columns of yes and no in each group, in the order of the groups; null is no
    trial. Trials of one question are one cluster, whatever their condition and step.
    """
    names = [expression if isinstance(expression, str) else expression.meta.output_name()
             for expression in by]  # fmt: skip
    sums = (
        frame.group_by(*by, QUESTION, maintain_order=True)
        .agg(
            *(pl.col(name).sum().cast(float).alias(f"hits {name}") for name in columns),
            *(pl.col(name).count().cast(float).alias(f"trials {name}") for name in columns),
        )
        .partition_by(names, as_dict=True, maintain_order=True)
    )
    found = {}
    for group, part in sums.items():
        hits, trials = (
            part.select(f"{side} {name}" for name in columns).to_numpy()
            for side in ("hits", "trials")
        )
        effective = Clustered.of_hits(hits, trials).effective()
        counts = zip(hits.sum(axis=0), trials.sum(axis=0), effective, strict=True)
        rates = [Rate(int(hit), int(trial), float(n)) for hit, trial, n in counts]
        found[group] = dict(zip(columns, rates, strict=True))
    return found


def scores_of(frame: pl.DataFrame) -> Scores:
    """The scores of all answers of a frame."""
    return next(iter(scores_by(frame, pl.lit(0)).values()), NO_SCORES)


def scores_by(frame: pl.DataFrame, *by: str | pl.Expr) -> dict[tuple[Any, ...], Scores]:
    """The scores of each group of answers, by the values that tell the groups apart."""
    held = sound(frame)
    return {
        group: Scores(rates["abstained"].trials, **rates)
        for group, rates in rates_by(held, by, SCORED).items()
    }
