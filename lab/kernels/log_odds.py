"""Probabilities of whole replies: too small or too near to 1 for a float, so in logarithms."""

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.responsibility import LEAST

FloatArray = NDArray[np.float64]

MOST = -float(np.finfo(np.float64).epsneg)  # the nearest double below probability 1


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
