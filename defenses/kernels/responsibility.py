"""Scores of several kinds made comparable, and split in two where they part best."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

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
    centred = ordered - ordered.mean()
    sizes = np.arange(1, len(values))
    # Centred numbers sum to 0, so both groups' sums are opposite.
    squares = np.cumsum(centred)[:-1] ** 2
    explained = np.where(np.diff(ordered) > 0.0, squares / sizes + squares / sizes[::-1], -np.inf)
    best = explained >= explained.max() - SAME * float((centred**2).sum())
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
