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

    With `masses` (n,), each of the others counts that many times. Where the others have no
    centrality at all, the mean is weighted by masses alone; 0 for a single document.
    """
    others = ~np.eye(len(centrality), dtype=np.bool_)
    each = np.ones_like(centrality) if masses is None else masses
    weights = np.where(others, centrality * each, 0.0)
    weightless = weights.sum(axis=1) < NO_WEIGHT
    weights[weightless] = np.where(others, each, 0.0)[weightless]
    total = np.maximum(weights.sum(axis=1), NO_WEIGHT)
    return np.asarray((conflict * weights).sum(axis=1) / total)
