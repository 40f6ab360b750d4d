"""The noises that DP-RAG may mean: the exponential mechanism of a service, and others beside it.

"Adaptive Defense Orchestration for RAG" does not say which one it measures; its words fit several.
With s_1 >= s_2 >= ... the similarities, clipped to [low, high], and K documents wanted.
"""

from math import log, sqrt
from typing import Final

import numpy as np

from radarstream.defenses.retrieval.pools import reranked
from radarstream.lab.kernels.private_threshold import BoolArray, FloatArray, above_threshold
from radarstream.lab.methods.dp_rag import DpRag
from radarstream.schemas.retrieval import CandidatePool, Reranking

DELTA: Final = 0.01
SENTINELS: Final = 2  # what two public programs count among the scores by mistake


class Gaussian(DpRag):
    """The threshold is s_K with normal noise; with fewer than K candidates `low` stands for s_K.

    One document may move s_K from one bound to the other, so that against cosines the noise decides
    nearly alone. Its deviation is proved to give (epsilon, delta) for epsilon below 1 only.
    """

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return (self.high - self.low) * sqrt(2.0 * log(1.25 / DELTA)) / self.epsilon

    def above(self, scores: FloatArray, keep: int, rng: np.random.Generator) -> BoolArray:
        """(n,) which scores are above the threshold."""
        clipped = np.clip(scores, self.low, self.high)
        kth = -np.sort(-clipped)[keep - 1] if keep <= len(clipped) else self.low
        return np.asarray(clipped >= kth + self.sigma * rng.normal())


class NoisyScores(DpRag):
    """The K highest after Laplace noise of scale 2 (high - low) K / epsilon on each similarity."""

    def drawn(self, pool: CandidatePool, scores: FloatArray, rng: np.random.Generator) -> Reranking:
        """All candidates in the order of their scores with noise."""
        scale = 2.0 * (self.high - self.low) * pool.keep / self.epsilon
        noisy = np.clip(scores, self.low, self.high) + rng.laplace(0.0, scale, len(scores))
        order = np.argsort(-noisy, kind="stable").tolist()
        return reranked("dp_rag", pool, order, scores=noisy)


class LegacyOffBy2(DpRag):
    """The exponential mechanism as two public programs compute it, which keeps two fewer."""

    def above(self, scores: FloatArray, keep: int, rng: np.random.Generator) -> BoolArray:
        """(n,) which scores are above the threshold."""
        bounds = (self.low, self.high)
        return above_threshold(scores, keep - SENTINELS, self.epsilon, rng, bounds)


EXPONENTIAL: Final = "exponential"
MECHANISMS: Final[dict[str, type[DpRag]]] = {
    EXPONENTIAL: DpRag,
    "gaussian": Gaussian,
    "noisy_scores": NoisyScores,
    "legacy_offby2": LegacyOffBy2,
}
