"""Sparse linear regression: least squares with a price on every weight."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MOST_SWEEPS = 10_000
STEADY = 1e-10  # largest step of a finished sweep, relative to the spread of the outcomes


def lasso(design: FloatArray, outcomes: FloatArray, alpha: float) -> FloatArray:
    """(n,) weights of the columns of `design`, in units of the outcomes.

    The columns are brought to mean 0 and variance 1, then cyclic coordinate descent minimises
    |y - b - X w|^2 / (2 m) + alpha |w|_1 over w and the intercept b, and the weights are brought
    back to the columns as they were. A column that never varies gets 0. Of columns that are
    copies of each other, the first carries the weight of all.

    `design` is (m, n), m >= 1, `outcomes` (m,), both finite; `alpha` >= 0 is the price of a unit of
    weight of a standardised column.
    """
    spread = np.where(np.ptp(design, axis=0) > 0.0, design.std(axis=0), 0.0)
    varying = np.flatnonzero(spread)
    standard = (design[:, varying] - design[:, varying].mean(axis=0)) / spread[varying]
    weights = np.zeros(design.shape[1])
    weights[varying] = _descend(standard, outcomes - outcomes.mean(), alpha) / spread[varying]
    return weights


def _descend(standard: FloatArray, centred: FloatArray, alpha: float) -> FloatArray:
    """Minimise over one weight after the other until a sweep changes nothing."""
    m, n = standard.shape
    weights, rest = np.zeros(n), centred.copy()
    for _ in range(MOST_SWEEPS):
        largest = 0.0
        for j in range(n):
            pull = standard[:, j] @ rest / m + weights[j]
            weight = np.sign(pull) * max(0.0, abs(pull) - alpha)
            step = weight - weights[j]
            rest -= step * standard[:, j]
            weights[j] = weight
            largest = max(largest, abs(step))
        if largest <= STEADY * centred.std():
            break
    return weights
