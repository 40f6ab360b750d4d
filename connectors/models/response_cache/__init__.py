"""Answers that models already gave, kept in the state database: asking again costs no call.

Answers are written as soon as the model gives them, one by one or chunk by chunk, each time in a
transaction of its own, so that a crash repeats only what was in flight. What `Cached` returns is
always decoded from the bytes it stored, so a run that finds its answers and a run that asks for
them agree exactly.
"""

from radarstream.connectors.models.response_cache.cached import Cached
from radarstream.connectors.models.response_cache.store import ResponseCache

__all__ = ["Cached", "ResponseCache"]
