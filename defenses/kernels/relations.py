"""Directed NLI probabilities to undirected weights."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def both_ways(forward: FloatArray, backward: FloatArray) -> FloatArray:
    """Geometric mean of the two directions (RADAR, Eq. 29 and 30): high only when both are.

    >>> round(float(both_ways(np.array(0.9), np.array(0.4))), 6)
    0.6
    """
    return np.asarray(np.sqrt(forward * backward), dtype=np.float64)


def symmetrise(directed: FloatArray) -> FloatArray:
    """(n, n) probabilities to symmetric weights in [0, 1] with a zero diagonal."""
    weights = both_ways(directed, directed.T)
    np.fill_diagonal(weights, 0.0)
    return weights
