"""Which of some texts stand in the middle of the others."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def beyond_affinity(similarities: FloatArray, affinities: FloatArray, alpha: float) -> FloatArray:
    """(n, n) weights: how alike two texts are beyond what both owe to the question.

    From (n, n) similarities, of which both directions count half, and (n,) affinities to the
    question, of which `alpha` is taken off for either text; never negative, 0 on the diagonal.
    """
    weights = 0.5 * (similarities + similarities.T)
    weights = weights - alpha * (affinities[:, None] + affinities[None, :])
    np.fill_diagonal(weights, 0.0)
    return np.asarray(np.maximum(weights, 0.0))


def pagerank(weights: FloatArray, damping: float) -> FloatArray:
    """(n,) PageRank of an undirected graph of (n, n) weights >= 0; the sum is 1, for n > 0.

    Page et al., "The PageRank Citation Ranking" (1999). The linear equations are solved, so that
    there is nothing to converge. From a text without neighbours the walk goes on anywhere; a graph
    without edges ranks all alike.
    """
    count = len(weights)
    if not weights.any():
        return np.full(count, 1.0 / max(count, 1))
    scaled = weights / weights.max()  # so that no sum overflows
    totals = scaled.sum(axis=1, keepdims=True)
    steps = np.where(totals > 0.0, scaled / np.where(totals > 0.0, totals, 1.0), 1.0 / count)
    found = np.linalg.solve(
        np.eye(count) - damping * steps.T, np.full(count, (1.0 - damping) / count)
    )
    return np.asarray(found / found.sum())
