"""Answers that models already gave, kept in the state database: asking again costs no call.

Answers are written as soon as the model gives them, one by one or chunk by chunk, each time in a
transaction of its own, so that a crash repeats only what was in flight. What a wrapper returns is
always decoded from the bytes it stored, so a run that finds its answers and a run that asks for
them agree exactly.
"""

from radarstream.connectors.models.response_cache.embedder import CachedEmbedder
from radarstream.connectors.models.response_cache.generator import CachedGenerator
from radarstream.connectors.models.response_cache.relations import CachedRelations
from radarstream.connectors.models.response_cache.store import ResponseCache
from radarstream.connectors.models.response_cache.tokens import CachedTokens

__all__ = [
    "CachedEmbedder",
    "CachedGenerator",
    "CachedRelations",
    "CachedTokens",
    "ResponseCache",
]
