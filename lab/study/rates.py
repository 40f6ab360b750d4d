"""Rates of answers with their 95 % intervals, computed from the table of answers.

Answers to one question are not independent: they are a *cluster*. An interval counts the *effective
trials*: the trials divided by the design effect (L. Kish, Survey Sampling, 1965), at least 1. Few
clusters with a hit tell little about it, and none nothing, so that the estimate is averaged with
the largest effect that the clusters can have; the estimate weighs as many clusters as are
informative, the largest effect one. A rate has Clopper and Pearson's exact interval (1934) at the
effective trials, as E. L. Korn and B. I. Graubard (1998) propose for surveys.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import betaincinv

from radarstream.schemas.evidence import FloatArray

LEVEL: Final = 0.95
TAIL: Final = (1.0 - LEVEL) / 2.0
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Clustered:
    """Trials by cluster, (clusters,) or (clusters, columns) each: how many there are, the sum of
    their values and that of the squares of these. Hits have the value 1, pairs 1, -1 or 0. Clusters
    without a trial do not count.
    """

    totals: FloatArray
    squares: FloatArray
    trials: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean value; NaN without a trial."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.totals.sum(axis=0) / self.trials.sum(axis=0))

    def effective(self) -> FloatArray:
        """Effective trials; 0 without a trial."""
        count = self.trials.sum(axis=0)
        clusters = (self.trials > 0).sum(axis=0)
        mean = np.nan_to_num(self.mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            between = (
                clusters / (clusters - 1) * ((self.totals - mean * self.trials) ** 2).sum(axis=0)
            )
            spread = self.squares.sum(axis=0) / count - mean**2
            alone = count**2 * spread / (count - 1)
            estimate = np.where(alone > 1e-12, np.fmax(between / alone, 1.0), 1.0)
            largest = np.nan_to_num((self.trials**2).sum(axis=0) / count, nan=1.0)
        # In how many clusters the rarer outcome occurs: a value, or its absence.
        some, lacking = (self.squares > 0).sum(axis=0), (self.squares < self.trials).sum(axis=0)
        found = np.minimum(some, lacking)
        effect = (found * np.nan_to_num(estimate, nan=1.0) + largest) / (found + 1)
        return np.asarray(count / effect)


def exact_interval(share: FloatArray | float, effective: FloatArray | float) -> FloatArray:
    """(..., 2): Clopper and Pearson's interval of a share of effective trials, which need not be
    whole numbers; (0, 1) without a trial.

    >>> exact_interval(0.0, 50.0).round(3).tolist()
    [0.0, 0.071]
    """
    trials = np.asarray(effective, dtype=float)
    hits = np.clip(np.nan_to_num(np.asarray(share, dtype=float)) * trials, 0.0, trials)
    misses = trials - hits
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 1e-9, betaincinv(hits, misses + 1.0, TAIL), 0.0)
        high = np.where(misses > 1e-9, betaincinv(hits + 1.0, misses, 1.0 - TAIL), 1.0)
    return np.stack([low, high], axis=-1)


QUESTION = "query_id"  # the column whose values are the clusters


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


def sound(frame: pl.DataFrame) -> pl.DataFrame:
    """The answers that did not fail."""
    return frame.filter(pl.col("error").is_null())


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
        effective = Clustered(hits, hits, trials).effective()
        counts = zip(hits.sum(axis=0), trials.sum(axis=0), effective, strict=True)
        rates = [Rate(int(hit), int(trial), float(n)) for hit, trial, n in counts]
        found[group] = dict(zip(columns, rates, strict=True))
    return found
