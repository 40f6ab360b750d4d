"""Every retrieval defence by name."""

from radarstream.defenses.options import Registry
from radarstream.defenses.protocol import RetrievalDefense
from radarstream.defenses.retrieval.grada import Grada
from radarstream.defenses.retrieval.trust_rag import TrustRagFilter

RERANKERS: Registry[RetrievalDefense] = Registry(
    "rerankers",
    {
        "grada": Grada,
        "trust_rag": TrustRagFilter,
    },
)
build_reranker = RERANKERS.build
