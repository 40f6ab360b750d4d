"""Every retrieval defence by name."""

from collections.abc import Mapping
from typing import Any

from radarstream.defenses.options import built
from radarstream.defenses.retrieval.attention_variance import AttentionVariance
from radarstream.defenses.retrieval.by_similarity import BySimilarity
from radarstream.defenses.retrieval.dp_rag import DpRag
from radarstream.defenses.retrieval.gmtp import Gmtp
from radarstream.defenses.retrieval.grada import Grada
from radarstream.defenses.retrieval.prog_rank import ProgRank
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.defenses.retrieval.raguard import RaguardLeaveOneOut
from radarstream.defenses.retrieval.trust_rag import TrustRagFilter

RERANKERS: dict[str, type[RetrievalDefense]] = {
    "none": BySimilarity,
    "prog_rank": ProgRank,
    "grada": Grada,
    "gmtp": Gmtp,
    "raguard": RaguardLeaveOneOut,
    "dp_rag": DpRag,
    "trust_rag": TrustRagFilter,
    "attention_variance": AttentionVariance,
}


def build_reranker(name: str, options: Mapping[str, Any] | None = None) -> RetrievalDefense:
    """Make a retrieval defence by its name, with options named as its class names them.

    Raises ConfigurationError on an unknown name, an unknown option or a value out of range.
    """
    return built("reranker", RERANKERS, name, options)
