"""Which scores are high enough, decided by a threshold with noise.

Scores are clipped to `bounds`, which must not depend on them. epsilon and delta are those of
differential privacy of the threshold when one score is added or removed; which scores are above it,
and how many, is not private. An infinite epsilon means no noise.
"""

from math import isfinite, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

COSINES: Final = (-1.0, 1.0)  # bounds of any cosine, whatever the documents
SENTINELS: Final = 2  # what two public programs count among the scores by mistake


def count_probabilities(
    scores: FloatArray,
    k: int,
    epsilon: float,
    bounds: tuple[float, float] = COSINES,
    *,
    uncounted: int = 0,
) -> FloatArray:
    """(n + 1,) how probable it is that 0, 1, ..., n scores exceed the threshold.

    The exponential mechanism draws the threshold with a density in proportion to exp(epsilon U / 2)
    within the bounds, where U is minus how far the number of scores above it is from `k`. One
    score more or less changes U by at most 1. Grislain, "RAG with Differential Privacy" (2025).

    `uncounted` is added to the number of scores: with `SENTINELS` the most probable number is
    k - 2, as in the published program. Raises ValueError on values out of range.
    """
    falling = -np.sort(-_clipped(scores, k, epsilon, bounds))
    low, high = bounds
    widths = np.concatenate(([high], falling)) - np.concatenate((falling, [low]))
    utilities = -np.abs(np.arange(len(widths)) + uncounted - k).astype(np.float64)
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
    *,
    uncounted: int = 0,
) -> BoolArray:
    """(n,) the scores above a threshold of the exponential mechanism, see `count_probabilities`.

    They are more or fewer than `k`; without noise and ties exactly the `k` highest.
    """
    sums = np.cumsum(count_probabilities(scores, k, epsilon, bounds, uncounted=uncounted))
    count = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
    if not count:
        return np.zeros(len(scores), dtype=np.bool_)
    clipped = np.clip(scores, *bounds)
    return np.asarray(clipped >= -np.sort(-clipped)[count - 1])


def gaussian_sigma(epsilon: float, delta: float, bounds: tuple[float, float] = COSINES) -> float:
    """The standard deviation of the noise on the `k`-th score, which one document may move from
    one bound to the other.

    The formula is proved to give (epsilon, delta) for epsilon below 1 only.
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be within (0, 1), got {delta}")
    return (bounds[1] - bounds[0]) * sqrt(2.0 * log(1.25 / delta)) / epsilon


def above_noisy_kth(
    scores: FloatArray,
    k: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    bounds: tuple[float, float] = COSINES,
) -> BoolArray:
    """(n,) the scores from the `k`-th highest on, to which normal noise is added.

    With fewer than `k` scores the lower bound takes its place. Against cosines the noise decides
    nearly alone: at epsilon 3 either all or none are above it.
    """
    clipped = _clipped(scores, k, epsilon, bounds)
    kth = -np.sort(-clipped)[k - 1] if k <= len(clipped) else bounds[0]
    return np.asarray(clipped >= kth + gaussian_sigma(epsilon, delta, bounds) * rng.normal())


def noisy_scores(
    scores: FloatArray,
    k: int,
    epsilon: float,
    rng: np.random.Generator,
    bounds: tuple[float, float] = COSINES,
) -> FloatArray:
    """(n,) scores with Laplace noise of scale 2 (high - low) k / epsilon, to take `k` of."""
    clipped = _clipped(scores, k, epsilon, bounds)
    scale = 2.0 * (bounds[1] - bounds[0]) * k / epsilon
    return np.asarray(clipped + rng.laplace(0.0, scale, len(clipped)))


def _clipped(scores: FloatArray, k: int, epsilon: float, bounds: tuple[float, float]) -> FloatArray:
    """The scores within the bounds. Raises ValueError on values out of range."""
    if np.isnan(scores).any():
        raise ValueError("a score is not a number")
    if not epsilon > 0.0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    if k < 1:
        raise ValueError(f"k must be 1 or more, got {k}")
    if not (bounds[0] < bounds[1] and all(map(isfinite, bounds))):
        raise ValueError(f"bounds must be finite and rise, got {bounds}")
    return np.asarray(np.clip(scores, *bounds), dtype=np.float64)
