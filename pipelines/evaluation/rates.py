"""Rates of answers with their intervals, computed from the table of answers."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import polars as pl

from radarstream.pipelines.evaluation.scoring import Definition

_Z95 = 1.959963984540054
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
    """`hits` of `trials`."""

    hits: int
    trials: int

    @property
    def value(self) -> float | None:
        """The share of hits in [0, 1]; None without trials."""
        return self.hits / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval at 95 %; (0, 1) without trials."""
        return wilson_interval(self.hits, self.trials)


def wilson_interval(hits: int, trials: int, z: float = _Z95) -> tuple[float, float]:
    """Wilson's score interval of a binomial proportion (E. B. Wilson, 1927)."""
    if not 0 <= hits <= trials:
        raise ValueError(f"need 0 <= hits <= trials, got {hits} of {trials}")
    if trials == 0:
        return 0.0, 1.0
    share = hits / trials
    scale = 1.0 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    spread = z / scale * sqrt(share * (1.0 - share) / trials + z * z / (4 * trials * trials))
    # At 0 or all hits the bound is exact; rounding must not push it past the share.
    low = 0.0 if hits == 0 else centre - spread
    high = 1.0 if hits == trials else centre + spread
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


def rate_of(column: str) -> pl.Expr:
    """The fields of a `Rate` of a column of yes and no; null is no trial."""
    return pl.struct(hits=pl.col(column).sum(), trials=pl.col(column).count())


def scores_of(frame: pl.DataFrame) -> Scores:
    """The scores of all answers of a frame."""
    return next(iter(scores_by(frame, pl.lit(0)).values()), NO_SCORES)


def scores_by(frame: pl.DataFrame, *by: str | pl.Expr) -> dict[tuple[Any, ...], Scores]:
    """The scores of each group of answers, by the values that tell the groups apart."""
    grouped = (
        sound(frame)
        .group_by(*by, maintain_order=True)
        .agg(pl.len(), *(rate_of(name).alias(name) for name in SCORED))
    )
    return {
        (*row[: len(by)],): Scores(row[len(by)], *(Rate(**rate) for rate in row[len(by) + 1 :]))
        for row in grouped.rows()
    }
