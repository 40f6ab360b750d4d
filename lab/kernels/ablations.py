"""What ablations of a context tell: probabilities of whole replies, as logarithms, since they
are too small or too near to 1 for a float, and a sparse linear regression.
"""

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.responsibility import LEAST

FloatArray = NDArray[np.float64]

MOST = -float(np.finfo(np.float64).epsneg)  # the nearest double below probability 1
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


def total(log_probs: FloatArray) -> FloatArray:
    """(r,) logarithms of the probability of all tokens of each row of (r, t)."""
    return np.asarray(np.clip(log_probs, LEAST, 0.0).sum(axis=1))


def log_odds(log_probs: FloatArray) -> FloatArray:
    """Odds, log p - log(1 - p), from (n,) finite logarithms of p; p = 1 is the double below it.
    Right where p underflows, too; 1 - p as in Maechler, "Accurately Computing log(1 - exp(-|a|))"
    (2012).
    """
    logs = np.minimum(log_probs, MOST)
    near_one = logs > -np.log(2.0)
    complement = np.empty_like(logs)
    complement[near_one] = np.log(-np.expm1(logs[near_one]))
    complement[~near_one] = np.log1p(-np.exp(logs[~near_one]))
    return np.asarray(logs - complement)


def surprise(log_probs: FloatArray) -> float:
    """The mean negative logarithm of the probabilities of (1, t) tokens, in [0, 100]."""
    return float(-log_probs.clip(LEAST, 0.0).mean())
