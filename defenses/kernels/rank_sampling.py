"""Random samples of documents in which better ranks come more often (ReliabilityRAG)."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def rank_weights(k: int, gamma: float) -> FloatArray:
    """(k,) probabilities proportional to gamma^(i - 1) for rank i; they sum to 1.

    gamma is in [0, 1]; 1 weighs every rank alike, and 0 stands for the linear weights
    1 - (i - 1) / k.

    >>> rank_weights(10, 0.9)[[0, 9]].round(6).tolist()
    [0.153534, 0.059482]
    """
    places = np.arange(k)
    weights = 1.0 - places / max(k, 1) if gamma == 0.0 else gamma**places
    return np.asarray(weights / weights.sum())


def rank_samples(
    rng: np.random.Generator,
    weights: FloatArray,
    *,
    rounds: int,
    size: int,
    replacement: bool,
) -> list[tuple[int, ...]]:
    """`rounds` samples of `size` indices, each ascending and without repetition.

    `weights` are the (k,) probabilities of a single draw, k > 0. An index that was drawn twice in
    a round is in it once; without `replacement` a round holds `size` indices, or as many as there
    are.
    """
    if not replacement:
        size = min(size, int(np.count_nonzero(weights)))
    drawn = [rng.choice(len(weights), size, replacement, weights) for _ in range(rounds)]
    return [tuple(np.unique(sample).tolist()) for sample in drawn]
