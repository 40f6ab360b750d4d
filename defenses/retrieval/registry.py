"""Every retrieval defence by name."""

from collections.abc import Mapping
from typing import Any

from radarstream.defenses.options import Registry, built
from radarstream.defenses.retrieval.grada import Grada
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.defenses.retrieval.trust_rag import TrustRagFilter

RERANKERS: Registry[RetrievalDefense] = Registry(
    "rerankers",
    {
        "grada": Grada,
        "trust_rag": TrustRagFilter,
    },
)


def build_reranker(name: str, options: Mapping[str, Any] | None = None) -> RetrievalDefense:
    """Make a retrieval defence by its name, with options named as its class names them.

    Raises ConfigurationError on an unknown name, an unknown option or a value out of range.
    """
    return built("reranker", RERANKERS, name, options)
