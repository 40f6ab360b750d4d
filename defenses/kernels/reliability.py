"""Kernels of ReliabilityRAG: independent sets that prefer low vertex numbers, and samples."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def independent_set(edges: BoolArray, weights: Sequence[int] | None = None) -> BoolArray:
    """Return the (n,) mask of the heaviest set of vertices without an edge between them.

    Of several heaviest sets it is the first in lexicographic order of the ascending vertex numbers,
    each repeated as often as its vertex weighs. So the result is unique, and it prefers better
    ranks if vertices are numbered by rank (ReliabilityRAG).

    `edges` are (n, n) and symmetric, the diagonal is ignored, n = 0 is allowed; `weights` are
    positive integers, by default 1. Raises ValueError for anything else.

    Branch and bound on bit masks: the search takes the lowest vertex first, then leaves it out, so
    that sets come in lexicographic order and only a heavier one replaces the best. The bound covers
    the remaining vertices by cliques, each with the weight of its heaviest vertex. Exponential in
    the worst case; milliseconds for 30 vertices.

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
    rows = [np.flatnonzero(row) for row in edges & ~np.eye(n, dtype=np.bool_)]
    search = _Search([sum(1 << int(other) for other in row) for row in rows], heavy)
    search.extend(chosen=0, weight=0, candidates=(1 << n) - 1)
    return np.array([search.best >> vertex & 1 for vertex in range(n)], dtype=np.bool_)


class _Search:
    """One branch and bound; sets of vertices are bit masks."""

    def __init__(self, neighbours: list[int], weights: list[int]) -> None:
        self.neighbours = neighbours
        self.weights = weights
        self.best = 0
        self.best_weight = 0

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
                return  # a set without this vertex is not heavier
        if weight > self.best_weight:
            self.best, self.best_weight = chosen, weight

    def bound(self, candidates: int) -> int:
        """Return an upper bound of the weight of an independent set among `candidates`."""
        total = 0
        while candidates:
            clique, heaviest = candidates, 0
            while clique:  # the vertices that are adjacent to all chosen ones
                lowest = clique & -clique
                vertex = lowest.bit_length() - 1
                candidates ^= lowest
                clique &= self.neighbours[vertex]
                heaviest = max(heaviest, self.weights[vertex])
            total += heaviest
        return total


def rank_weights(k: int, gamma: float) -> FloatArray:
    """Return (k,) probabilities proportional to gamma^(i - 1) for rank i.

    `gamma` is in [0, 1]; with 1 all ranks weigh the same, and 0 means weights proportional to
    1 - (i - 1) / k.

    >>> rank_weights(10, 0.9)[[0, 9]].round(6).tolist()
    [0.153534, 0.059482]
    """
    places = np.arange(k)
    weights = 1.0 - places / max(k, 1) if gamma == 0.0 else gamma**places
    return np.asarray(weights / weights.sum())


def rank_samples(
    rng: np.random.Generator, weights: FloatArray, *, rounds: int, size: int, replacement: bool
) -> list[tuple[int, ...]]:
    """Draw `rounds` samples of `size` indices; each is ascending and without repetitions.

    `weights` are the (k,) probabilities of a single draw, k > 0. With `replacement`, an index that
    is drawn twice counts once; without, a sample has `size` indices, or all if there are fewer.
    """
    if not replacement:
        size = min(size, int(np.count_nonzero(weights)))
    drawn = [rng.choice(len(weights), size, replacement, weights) for _ in range(rounds)]
    return [tuple(np.unique(sample).tolist()) for sample in drawn]
