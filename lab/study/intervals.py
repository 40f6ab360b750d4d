"""95 % intervals of rates, for rare events and for trials in clusters.

Answers to one question are not independent. So trials come in *clusters* (questions), and an
interval counts the *effective trials*: the trials divided by the design effect (L. Kish, Survey
Sampling, 1965), the variance of the rate over clusters by that of as many independent trials.

- The effect is at least 1. Few clusters with a hit tell little about it, and none nothing. So the
  estimate is averaged with the largest effect that the clusters can have, where all trials of a
  cluster are alike; the estimate weighs as many clusters as are informative, the largest effect
  one. Where all trials are hits, or none, the effective trials are therefore about the clusters.
- A rate has Clopper and Pearson's exact interval (1934) at the effective trials, as E. L. Korn and
  B. I. Graubard (1998) propose for surveys. Wilson's (1927) is shorter, and covers less than 93 %
  where one to three hits are expected.

`paired_intervals` has those of differences. A test simulates how often all of them hold the truth.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaincinv

from radarstream.schemas.evidence import FloatArray

LEVEL: Final = 0.95
TAIL: Final = (1.0 - LEVEL) / 2.0
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Clustered:
    """Trials by cluster, (clusters,) or (clusters, columns) each: how many there are, the sum of
    their values and that of the squares of these. Clusters without a trial do not count.
    """

    totals: FloatArray
    squares: FloatArray
    trials: FloatArray

    @staticmethod
    def of_hits(hits: FloatArray, trials: FloatArray) -> "Clustered":
        """Trials of value 1, the hits, or 0."""
        return Clustered(hits, hits, trials)

    @staticmethod
    def of_differences(gains: FloatArray, losses: FloatArray, trials: FloatArray) -> "Clustered":
        """Pairs of value 1 (gains), -1 (losses) or 0."""
        return Clustered(gains - losses, gains + losses, trials)

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
        found = self.informative()
        effect = (found * np.nan_to_num(estimate, nan=1.0) + largest) / (found + 1)
        return np.asarray(count / effect)

    def informative(self) -> FloatArray:
        """In how many clusters the rarer outcome occurs: a value, or its absence."""
        some = (self.squares > 0).sum(axis=0)
        lacking = (self.squares < self.trials).sum(axis=0)
        return np.asarray(np.minimum(some, lacking))


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
