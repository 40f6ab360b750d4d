"""The protocol of retrieval defences: defences' siblings, pure generators over candidates."""

from collections.abc import Generator
from typing import Any, Protocol

from radarstream.defenses.protocol import Request
from radarstream.schemas.retrieval import CandidatePool, Reranking

# The response's type follows from the request's, as for defences.
Reordering = Generator[Request, Any, Reranking]


class RetrievalDefense(Protocol):
    """Orders what a search found, and drops what it takes for planted.

    Holds no model, clock, file or random number generator; `pipelines` fulfils its requests.
    """

    @property
    def needs(self) -> frozenset[str]:
        """What models must offer beyond completions and embeddings: members of `Signal`, and names
        of models that a plug-in builds.
        """

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Judge every candidate once.

        Deterministic; leaves its argument unchanged; what it finds does not depend on the order of
        the candidates: equal scores are ordered by similarity, then by `Document.content_id`.
        Raises EvidenceError on malformed input.
        """
