"""Which scores are high enough, decided by a threshold with noise.

Scores are clipped to `bounds`, which must not depend on them. epsilon is that of differential
privacy of the threshold when one score is added or removed; which scores are above it, and how
many, is not private. An infinite epsilon means no noise.
"""

from math import isfinite
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

COSINES: Final = (-1.0, 1.0)  # bounds of any cosine, whatever the documents


def count_probabilities(
    scores: FloatArray, k: int, epsilon: float, bounds: tuple[float, float] = COSINES
) -> FloatArray:
    """(n + 1,) how probable it is that 0, 1, ..., n scores exceed the threshold.

    The exponential mechanism draws the threshold with a density in proportion to exp(epsilon U / 2)
    within the bounds, where U is minus how far the number of scores above it is from `k`. One
    score more or less changes U by at most 1. Grislain, "RAG with Differential Privacy" (2025).
    """
    low, high = bounds
    falling = -np.sort(-np.clip(scores, low, high))
    widths = np.concatenate(([high], falling)) - np.concatenate((falling, [low]))
    utilities = -np.abs(np.arange(len(widths)) - k).astype(np.float64)
    possible = widths > 0.0
    behind = np.where(possible, utilities - utilities[possible].max(), -np.inf)
    with np.errstate(over="ignore"):
        masses = widths * (np.exp(0.5 * epsilon * behind) if isfinite(epsilon) else behind == 0.0)
    return np.asarray(masses / masses.sum())


def above_threshold(
    scores: FloatArray,
    k: int,
    epsilon: float,
    rng: np.random.Generator,
    bounds: tuple[float, float] = COSINES,
) -> BoolArray:
    """(n,) the scores above a threshold of the exponential mechanism, see `count_probabilities`.
    They are more or fewer than `k`; without noise and ties exactly the `k` highest.
    """
    sums = np.cumsum(count_probabilities(scores, k, epsilon, bounds))
    count = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    if not count:
        return np.zeros(len(scores), dtype=np.bool_)
    clipped = np.clip(scores, *bounds)
    return np.asarray(clipped >= -np.sort(-clipped)[count - 1])
