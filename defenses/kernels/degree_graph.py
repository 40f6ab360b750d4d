"""Selection by how many others a vertex contradicts, without a search (ReliabilityRAG)."""

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]


def uncontradicted(contradicts: BoolArray) -> BoolArray:
    """Vertices that no better one contradicts, once those that contradict most are gone.

    While a vertex contradicts more than half of those that remain (rounded down), all such
    vertices are deleted; of the rest, those that none of the rest contradicts are selected.

    Parameters
    ----------
    contradicts
        (n, n); [i, j] says that vertex i contradicts the worse ranked vertex j > i. Only the upper
        triangle is read.

    Returns
    -------
    (n,) mask; empty only for n = 0, because the worst vertex contradicts nobody.
    """
    edges = np.triu(contradicts, 1)
    remaining = np.ones(len(edges), dtype=np.bool_)
    while True:
        degrees = (edges & remaining).sum(axis=1)
        loud = remaining & (degrees > remaining.sum() // 2)
        if not loud.any():
            break
        remaining &= ~loud
    return np.asarray(remaining & ~edges[remaining].any(axis=0))
