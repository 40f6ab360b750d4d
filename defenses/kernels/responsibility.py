"""Kernels of RAGOrigin: standardises scores, splits them in two, and tests the split."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LEAST: Final = -100.0  # least logarithm of a token's probability; smaller ones are raised to it
SHUFFLES: Final = 4_999
SEED: Final = 0
LEAST_SPREAD = 1e-12  # scores within this distance are one group
SAME = 1e-12  # relative difference below which two splits are equally good


@dataclass(frozen=True, eq=False)
class Split:
    """Two groups of scores; `upper` masks the one with the higher mean.

    `error` is the sum of squared distances to the groups' means.
    """

    upper: BoolArray
    lower_mean: float
    upper_mean: float
    error: float

    @property
    def gap(self) -> float:
        """Distance between the means, > 0."""
        return self.upper_mean - self.lower_mean


def standard_scores(values: FloatArray) -> FloatArray:
    """Return the (n,) z-scores, by the population deviation; zeros if all values are equal.

    Raises ValueError for a value that is not finite.
    """
    values = finite(values)
    if not len(values) or np.ptp(values) <= SAME * np.abs(values).max():
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / values.std())


def split_in_two(values: FloatArray) -> Split | None:
    """Split (n,) numbers into a lower and an upper group with the least squared error.

    It tries every cut of the sorted numbers; of equally good cuts the lowest wins. None for fewer
    than two numbers, or if all are within 1e-12. Raises ValueError for a value that is not finite.
    """
    values = finite(values)
    if len(values) < 2 or np.ptp(values) < LEAST_SPREAD:
        return None
    ordered = np.sort(values)
    gains = np.where(np.diff(ordered) > 0.0, _explained_by_cuts(ordered), -np.inf)
    best = gains >= gains.max() - SAME * float(((ordered - ordered.mean()) ** 2).sum())
    upper = values >= ordered[int(np.argmax(best)) + 1]
    error = sum(
        float(((part - part.mean()) ** 2).sum()) for part in (values[~upper], values[upper])
    )
    return Split(upper, float(values[~upper].mean()), float(values[upper].mean()), error)


def finite(values: FloatArray) -> FloatArray:
    """Return (n,) values as float64. Raises ValueError with the index of one that is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"scores must be one row, got shape {array.shape}")
    if not np.isfinite(array).all():
        index = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"score [{index}] = {array[index]} is not finite")
    return array


def chance_of_separation(scores: FloatArray) -> float:
    """Return the probability that unrelated scores separate the texts as clearly.

    `scores` are m kinds of scores of n texts, (m, n). In this permutation test each row is shuffled
    by itself, so that only the agreement of the rows is lost. It compares how much of the squared
    distances of the mean z-scores the best split in two explains, which two-means maximises.
    Returns (1 + as clear) / (1 + shuffles), in [1 / 5000, 1]; 1 for a single row, fewer than two
    texts, or constant rows. Deterministic, whatever the order of the texts. If one text stands out,
    n must be at least 5 for a value below 0.05: three rows agree on it by chance in 1 / n^2.

    Takes O(5000 m n log n) time. Raises ValueError for a value that is not finite.
    """
    rows = [standard_scores(finite(row)) for row in scores]
    if len(rows) < 2 or len(rows[0]) < 2:
        return 1.0
    observed = explained(np.mean(rows, axis=0)[np.newaxis])[0]
    if observed <= SAME:
        return 1.0
    rng = np.random.default_rng(SEED)
    shuffled = np.zeros((SHUFFLES, len(rows[0])))
    for row in rows:  # sorted, so that the order of the texts does not matter
        shuffled += rng.permuted(np.tile(np.sort(row), (SHUFFLES, 1)), axis=1)
    as_clear = explained(shuffled / len(rows)) >= observed * (1.0 - SAME)
    return float((1 + as_clear.sum()) / (1 + SHUFFLES))


def explained(values: FloatArray) -> FloatArray:
    """Return (b,): how much of the squared distances to the mean the best split in two explains,
    for each row of (b, n) numbers, n >= 2.
    """
    return np.asarray(_explained_by_cuts(np.sort(values, axis=1)).max(axis=1))


def _explained_by_cuts(ordered: FloatArray) -> FloatArray:
    """Return (..., n - 1): the same for every cut of sorted numbers (..., n)."""
    centred = ordered - ordered.mean(axis=-1, keepdims=True)
    sizes = np.arange(1, ordered.shape[-1])
    # Centred numbers sum to 0, so the sums of the two groups are opposite.
    squares = np.cumsum(centred, axis=-1)[..., :-1] ** 2
    return np.asarray(squares / sizes + squares / sizes[::-1])
