"""Divides points into two clusters by least squares; exact for few points."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_EXACT = 12  # points whose 2,047 bipartitions are all tried
RESTARTS = 10
MOST_STEPS = 500
SAME = 1e-12  # relative difference below which two splits are equally good


def two_means(points: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Split points so that the sum of squared distances to the clusters' means is least.

    With up to 12 points it tries every split; of equally good ones, the one that splits off the
    last points wins. With more, it runs Lloyd's algorithm from 10 k-means++ starts drawn from
    `rng`, which may end in a local minimum.

    `points` are (n, d), finite, n >= 2. Returns the (n,) mask of the cluster without the first
    point; no cluster is empty.
    """
    centred = points - points.mean(axis=0)
    if not np.ptp(points, axis=0).any():
        return np.asarray(np.arange(len(points)) == len(points) - 1)
    if len(points) <= MOST_EXACT:
        splits = _bipartitions(len(points))
    else:
        splits = np.stack([_lloyd(centred, _starts(centred, rng)) for _ in range(RESTARTS)])
    gains = separation(centred, splits)
    return np.asarray(splits[np.argmax(gains >= gains.max() - SAME * (centred**2).sum())])


def separation(centred: FloatArray, splits: BoolArray) -> FloatArray:
    """Return (m,): how much of the squared distances each of (m, n) splits explains.

    `centred` points have mean 0, so that the sums of the two clusters are opposite.
    """
    sizes = splits.sum(axis=1)
    squares = ((splits @ centred) ** 2).sum(axis=1)
    return np.asarray(squares / sizes + squares / (splits.shape[1] - sizes))


def standardised(points: FloatArray) -> FloatArray:
    """Scale (n, d) points: each feature to mean 0 and variance 1, then each point to length 1.

    Constant features and points of length 0 become 0.
    """
    spread = np.where(np.ptp(points, axis=0) > 0.0, points.std(axis=0), 1.0)
    return unit_rows((points - points.mean(axis=0)) / spread)


def unit_rows(points: FloatArray) -> FloatArray:
    """Scale rows to Euclidean length 1; rows of zeros stay zero."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.where(lengths > 0.0, lengths, 1.0))


def _bipartitions(n: int) -> BoolArray:
    """Return all (2**(n - 1) - 1, n) masks without the first point; the last point comes first."""
    numbers = np.arange(1, 2 ** (n - 1))
    return np.asarray(numbers[:, None] >> np.arange(n - 1, -1, -1) & 1, dtype=np.bool_)


def _starts(points: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw two points, the second by its squared distance to the first (k-means++)."""
    first = points[rng.integers(len(points))]
    distances = ((points - first) ** 2).sum(axis=1)
    second = points[rng.choice(len(points), p=distances / distances.sum())]
    return np.stack((first, second))


def _lloyd(points: FloatArray, centres: FloatArray) -> BoolArray:
    """Assign and average until nothing changes; return a (n,) mask without the first point."""
    split = np.zeros(len(points), dtype=np.bool_)
    for _ in range(MOST_STEPS):
        distances = ((points[:, None, :] - centres) ** 2).sum(axis=2)
        moved = distances[:, 1] < distances[:, 0]
        if np.array_equal(moved, split) or moved.all() or not moved.any():
            break
        split = moved
        centres = np.stack((points[~split].mean(axis=0), points[split].mean(axis=0)))
    return ~split if split[0] else split
