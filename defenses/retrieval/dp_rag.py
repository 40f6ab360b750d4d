"""DP-RAG: which candidates are similar enough is decided with noise."""

from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.private_threshold import (
    SENTINELS,
    BoolArray,
    FloatArray,
    above_noisy_kth,
    above_threshold,
    noisy_scores,
)
from radarstream.defenses.protocol import Signal
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.defenses.retrieval.protocol import Reordering
from radarstream.schemas.retrieval import CandidatePool, Reranking
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Reason


class Mechanism(StrEnum):
    """How noise decides which candidates are near enough."""

    EXPONENTIAL = "exponential"
    GAUSSIAN = "gaussian"
    NOISY_SCORES = "noisy_scores"
    LEGACY_OFFBY2 = "legacy_offby2"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class DpRag:
    """Keeps candidates above a threshold that is drawn with noise, at most as many as wanted.

    After "Adaptive Defense Orchestration for RAG", whose DP-RAG does not say which mechanism it is,
    and "RAG with Differential Privacy" by Grislain, which it cites.

    The threshold of "exponential" is private, if all documents of the corpus are candidates: one
    document more or less changes its density at most by the factor exp(epsilon). Whoever asks does
    not see the threshold but documents above it, and neither these nor their number are private:
    of 15 equally similar documents never exactly one is kept, with a nearer one beside them often.
    Grislain's system adds noise to the answer as well, which this one does not.

    A candidate that the noise keeps out is `not_drawn`; nobody may tell a user which ones these
    were. Asks no model.

    Parameters
    ----------
    method
        "exponential": a threshold from the exponential mechanism. The others are for studies that
        compare mechanisms. "gaussian": normal noise on the K-th score; against cosines it is a coin
        flip between all and none. "noisy_scores": Laplace noise on each score, as the paper's words
        say. "legacy_offby2": the first as two public programs compute it, which keeps two documents
        fewer.
    epsilon
        Of the threshold, per question: smaller means more noise.
    delta
        Of the noise of "gaussian" alone.
    low, high
        Similarities are clipped to them. They must not depend on the documents.
    seed
        Of the noise. The noise of a question depends on its text and the seed alone. Who knows the
        seed knows the noise: draw a new one for every question with `secrets.randbits(128)`. The
        default is for studies.
    """

    method: Mechanism = Mechanism.EXPONENTIAL
    epsilon: Annotated[float, Field(gt=0.0)] = 3.0
    delta: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.01
    low: float = -1.0
    high: float = 1.0
    seed: Annotated[int, Field(ge=0)] = 0

    needs: ClassVar[frozenset[Signal]] = frozenset()

    @model_validator(mode="after")
    def _bounds_rise(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low} and {self.high}")
        return self

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Draw the noise and keep what is above it. Raises EvidenceError on a malformed pool.

        What is kept stands in the order of similarity, with "noisy_scores" in that of the scores.
        """
        pool = checked_pool(pool)
        yield from ()
        scores, rng = np.array(pool.similarities), self._noise(pool)
        if self.method is Mechanism.NOISY_SCORES:
            noisy = noisy_scores(scores, pool.keep, self.epsilon, rng, (self.low, self.high))
            order = np.argsort(-noisy, kind="stable").tolist()
            return reranked("dp_rag", pool, order, scores=noisy)
        return self._above(pool, self._drawn(scores, pool.keep, rng))

    def _drawn(self, scores: FloatArray, keep: int, rng: np.random.Generator) -> BoolArray:
        """(n,) which are above the threshold."""
        bounds = (self.low, self.high)
        if self.method is Mechanism.GAUSSIAN:
            return above_noisy_kth(scores, keep, self.epsilon, self.delta, rng, bounds)
        uncounted = SENTINELS if self.method is Mechanism.LEGACY_OFFBY2 else 0
        return above_threshold(scores, keep, self.epsilon, rng, bounds, uncounted=uncounted)

    def _above(self, pool: CandidatePool, above: BoolArray) -> Reranking:
        """The nearest, of which `above` says which ones the noise lets through."""
        count = int(above.sum())
        passing = replace(pool, keep=min(pool.keep, count))
        found = reranked("dp_rag", passing, range(len(above)))
        out = (replace(c, reason=Reason.NOT_DRAWN) for c in found.candidates[count:])
        return Reranking("dp_rag", (*found.candidates[:count], *out))

    def _noise(self, pool: CandidatePool) -> np.random.Generator:
        """Random numbers of this question, whatever the candidates."""
        text = pool.query.text.encode("utf-8", "surrogatepass")
        return np.random.default_rng((self.seed, int.from_bytes(sha256(text).digest())))
