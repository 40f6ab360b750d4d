"""No defence: the candidates nearest to the question, as a retriever gives them."""

from typing import ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Reordering, Signal
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class BySimilarity:
    """The K candidates most similar to the question: what every reranker is compared with."""

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Keep the nearest. Raises EvidenceError on a malformed pool."""
        pool = checked_pool(pool)
        yield from ()
        return reranked("none", pool, range(len(pool.documents)))
