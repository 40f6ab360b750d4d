"""k-means on unit rows, for attackers who cover many questions with few passages."""

import numpy as np

from radarstream.schemas.evidence import FloatArray

_ROUNDS = 50


def centres(rows: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """(k, d) means of the clusters of (n, d) rows, k = min(count, n), n >= 1.

    Lloyd's algorithm from rows drawn as k-means++ does (Arthur and Vassilvitskii, 2007). A cluster
    that loses all its rows keeps its centre.
    """
    chosen = rows[[int(rng.integers(len(rows)))]]
    while len(chosen) < min(count, len(rows)):
        nearest = _distances(rows, chosen).min(axis=1)
        total = nearest.sum()
        odds = nearest / total if total > 0.0 else None
        chosen = np.vstack([chosen, rows[int(rng.choice(len(rows), p=odds))]])
    for _ in range(_ROUNDS):
        member = _distances(rows, chosen).argmin(axis=1)
        moved = np.array(
            [
                rows[member == k].mean(axis=0) if (member == k).any() else centre
                for k, centre in enumerate(chosen)
            ]
        )
        if np.array_equal(moved, chosen):
            break
        chosen = moved
    return np.asarray(chosen)


def _distances(rows: FloatArray, chosen: FloatArray) -> FloatArray:
    """(n, k) squared distances."""
    return np.asarray(np.square(rows[:, None] - chosen).sum(axis=2))
