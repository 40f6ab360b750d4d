"""DP-RAG: which candidates are similar enough is decided with noise."""

from dataclasses import replace
from hashlib import sha256
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Reordering, Signal
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.lab.kernels.private_threshold import BoolArray, FloatArray, above_threshold
from radarstream.schemas.retrieval import CandidatePool, Reranking
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Reason


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class DpRag:
    """Keeps candidates above a threshold that is drawn with noise, at most as many as wanted.

    After "Adaptive Defense Orchestration for RAG", whose DP-RAG does not say which mechanism it is,
    and "RAG with Differential Privacy" by Grislain, which it cites.

    The threshold comes from the exponential mechanism and is private, if all documents of the
    corpus are candidates: one document more or less changes its density at most by the factor
    exp(epsilon). Whoever asks does not see the threshold but documents above it, and neither these
    nor their number are private: of 15 equally similar documents never exactly one is kept, with a
    nearer one beside them often. Grislain's system adds noise to the answer as well, which this
    one does not.

    A candidate that the noise keeps out is `not_drawn`; nobody may tell a user which ones these
    were. Asks no model.

    Parameters
    ----------
    epsilon
        Of the threshold, per question: smaller means more noise.
    low, high
        Similarities are clipped to them. They must not depend on the documents.
    seed
        Of the noise. The noise of a question depends on its text and the seed alone. Who knows the
        seed knows the noise: draw a new one for every question with `secrets.randbits(128)`. The
        default is for studies.
    """

    epsilon: Annotated[float, Field(gt=0.0)] = 3.0
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
        """Draw the noise and keep what is above it, in the order of similarity. Raises
        EvidenceError on a malformed pool.
        """
        pool = checked_pool(pool)
        yield from ()
        # The noise is that of the question, whatever the candidates.
        text = sha256(pool.query.text.encode("utf-8", "surrogatepass")).digest()
        rng = np.random.default_rng((self.seed, int.from_bytes(text)))
        return self.drawn(pool, np.array(pool.similarities), rng)

    def drawn(self, pool: CandidatePool, scores: FloatArray, rng: np.random.Generator) -> Reranking:
        """The nearest above the threshold; `scores` are the similarities of a checked pool."""
        above = self.above(scores, pool.keep, rng)
        count = int(above.sum())
        found = reranked("dp_rag", replace(pool, keep=min(pool.keep, count)), range(len(above)))
        out = (replace(c, reason=Reason.NOT_DRAWN) for c in found.candidates[count:])
        return Reranking("dp_rag", (*found.candidates[:count], *out))

    def above(self, scores: FloatArray, keep: int, rng: np.random.Generator) -> BoolArray:
        """(n,) which scores are above the threshold."""
        return above_threshold(scores, keep, self.epsilon, rng, (self.low, self.high))
