"""Scores of several kinds made comparable, split in two where they part best, and tested."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Of the probability of a token; stands for the logarithm of any smaller one, as of 0.
LEAST: Final = -100.0
SHUFFLES: Final = 4_999
SEED: Final = 0
LEAST_SPREAD = 1e-12  # scores nearer to each other are all one group
SAME = 1e-12  # share of all squared distances below which two splits are equally good


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
    """(n,) distances to the mean in population standard deviations; zeros where all are equal.

    Raises ValueError on a value that is not finite.
    """
    values = finite(values)
    if not len(values) or np.ptp(values) <= SAME * np.abs(values).max():
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / values.std())


def split_in_two(values: FloatArray) -> Split | None:
    """The split of (n,) numbers into a lower and an upper group with the least squared error.

    Exact: every cut of the sorted numbers is tried. Of equally good cuts, the lowest. None for
    fewer than two numbers, or where they are closer together than 1e-12. Raises ValueError on a
    value that is not finite.
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
    """Return (n,) `values` as float64. Raises ValueError with the index of one that is not."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"scores must be one row, got shape {array.shape}")
    if not np.isfinite(array).all():
        index = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"score [{index}] = {array[index]} is not finite")
    return array


def chance_of_separation(scores: FloatArray) -> float:
    """How often scores that know nothing of each other would part the texts as clearly.

    `scores` are m kinds of scores of n texts, (m, n). A permutation test: each row keeps its values
    but is shuffled by itself, so that nothing but the agreement of the rows is lost. What is
    compared is the largest part of the squared distances between mean standard scores that a split
    in two explains, which is what two-means maximises. Returns (1 + as clear) / (1 + shuffles), in
    [1 / 5000, 1]; 1 for a single row, fewer than two texts, or rows that are constant. The same for
    texts in any order; deterministic. Needs n of at least 5 to fall below 0.05 where one text
    stands out of the others: the chance that three rows favour the same one is 1 / n^2.

    Takes O(5000 m n log n) time. Raises ValueError on a value that is not finite.
    """
    rows = [standard_scores(finite(row)) for row in scores]
    if len(rows) < 2 or len(rows[0]) < 2:
        return 1.0
    observed = explained(np.mean(rows, axis=0)[np.newaxis])[0]
    if observed <= SAME:
        return 1.0
    rng = np.random.default_rng(SEED)
    shuffled = np.zeros((SHUFFLES, len(rows[0])))
    for row in rows:  # sorted first: the order of the texts must not decide
        shuffled += rng.permuted(np.tile(np.sort(row), (SHUFFLES, 1)), axis=1)
    as_clear = explained(shuffled / len(rows)) >= observed * (1.0 - SAME)
    return float((1 + as_clear.sum()) / (1 + SHUFFLES))


def explained(values: FloatArray) -> FloatArray:
    """The most of their squared distances to the mean that a split in two explains.

    Per row of (b, n) numbers, n >= 2; (b,).
    """
    return np.asarray(_explained_by_cuts(np.sort(values, axis=1)).max(axis=1))


def _explained_by_cuts(ordered: FloatArray) -> FloatArray:
    """(..., n - 1): the same for every cut of sorted numbers (..., n)."""
    centred = ordered - ordered.mean(axis=-1, keepdims=True)
    sizes = np.arange(1, ordered.shape[-1])
    # Centred numbers sum to 0, so both groups' sums are opposite.
    squares = np.cumsum(centred, axis=-1)[..., :-1] ** 2
    return np.asarray(squares / sizes + squares / sizes[::-1])
