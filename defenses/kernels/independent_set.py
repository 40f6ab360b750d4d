"""Exact maximum independent set that prefers low vertex numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]


def independent_set(edges: BoolArray, weights: Sequence[int] | None = None) -> BoolArray:
    """The heaviest set of vertices without an edge among them.

    Of several heaviest sets, the one whose ascending vertex numbers come first in lexicographic
    order; with weights, where the numbers of a vertex count as often as it weighs. So the result
    is unique, and vertices numbered by rank make it prefer better ranks (ReliabilityRAG).

    Parameters
    ----------
    edges
        (n, n) symmetric; the diagonal is ignored; n = 0 is allowed.
    weights
        (n,) positive whole numbers; 1 each without.

    Returns
    -------
    (n,) mask of the set.

    Raises
    ------
    ValueError
        On an asymmetric or not square matrix, or a weight below 1.

    Notes
    -----
    Branch and bound on bit masks: the lowest vertex is first taken, then left out, so sets come in
    lexicographic order and only a heavier one replaces the best so far. The bound covers the
    remaining vertices by cliques, of each of which at most the heaviest vertex can be taken.
    Exponential in the worst case; milliseconds for 30 vertices.

    Examples
    --------
    >>> cycle = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    >>> np.flatnonzero(independent_set(cycle | cycle.T)).tolist()
    [0, 2]
    """
    n = len(edges)
    if edges.shape != (n, n) or not np.array_equal(edges, edges.T):
        raise ValueError("edges must be a square symmetric matrix")
    heavy = [1] * n if weights is None else list(weights)
    if len(heavy) != n or min(heavy, default=1) < 1:
        raise ValueError(f"there must be {n} weights of at least 1")
    chosen = _Search(_neighbourhoods(edges), heavy).heaviest()
    return np.array([chosen >> vertex & 1 for vertex in range(n)], dtype=np.bool_)


class _Search:
    """One branch and bound; vertex sets are bit masks."""

    def __init__(self, neighbours: list[int], weights: list[int]) -> None:
        self.neighbours = neighbours
        self.weights = weights
        self.best = 0
        self.best_weight = 0

    def heaviest(self) -> int:
        self.extend(0, 0, (1 << len(self.weights)) - 1)
        return self.best

    def extend(self, chosen: int, weight: int, candidates: int) -> None:
        """Try every set that joins some of `candidates` to `chosen`, in lexicographic order."""
        while candidates:
            if weight + self.bound(candidates) <= self.best_weight:
                return
            lowest = candidates & -candidates
            vertex = lowest.bit_length() - 1
            candidates ^= lowest
            rivals = candidates & self.neighbours[vertex]
            self.extend(chosen | lowest, weight + self.weights[vertex], candidates & ~rivals)
            if not rivals:
                return  # leaving it out gains nothing
        if weight > self.best_weight:
            self.best, self.best_weight = chosen, weight

    def bound(self, candidates: int) -> int:
        """At least the weight of the heaviest independent set among `candidates`."""
        total = 0
        while candidates:
            clique, heaviest = candidates, 0
            while clique:  # vertices that are adjacent to all taken so far
                lowest = clique & -clique
                vertex = lowest.bit_length() - 1
                candidates ^= lowest
                clique &= self.neighbours[vertex]
                heaviest = max(heaviest, self.weights[vertex])
            total += heaviest
        return total


def _neighbourhoods(edges: BoolArray) -> list[int]:
    """Each vertex's neighbours as a bit mask, itself excluded."""
    return [
        sum(1 << int(other) for other in np.flatnonzero(row) if other != vertex)
        for vertex, row in enumerate(edges)
    ]
