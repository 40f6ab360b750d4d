"""Terminal capacities of the cut graph: what speaks for and against each document."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

NO_WEIGHT = 1e-12  # centralities that sum to less weigh every document alike


def keep_evidence(centrality: FloatArray, ranks: NDArray[np.int_], *, retrieved: int) -> FloatArray:
    """S_i = centrality times exp(-rank / k) (RADAR, Eq. 6).

    `ranks` are the original 1-based retrieval ranks, `retrieved` is k before any filtering.
    """
    return np.asarray(centrality * np.exp(-ranks / retrieved))


def reject_evidence(
    conflict: FloatArray, centrality: FloatArray, masses: FloatArray | None = None
) -> FloatArray:
    """F_i: mean contradiction with the others, weighted by their centrality (RADAR, Eq. 7).

    With `masses` (n,), a node stands for that many documents that say the same, and one of a
    node's own does not count among the others. Where the others have no centrality at all, the
    mean is weighted by masses alone; 0 for a single document.
    """
    n = len(centrality)
    others = np.where(np.eye(n, dtype=np.bool_), 0.0, 1.0)
    if masses is not None:
        others = others * masses + np.diag(np.maximum(masses - 1.0, 0.0))
    weights = others * centrality
    weightless = weights.sum(axis=1) < NO_WEIGHT
    weights[weightless] = others[weightless]
    total = np.maximum(weights.sum(axis=1), NO_WEIGHT)
    return np.asarray((conflict * weights).sum(axis=1) / total)
