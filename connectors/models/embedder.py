"""What a sentence embedding model is, for the connectors that are given one and for the ports."""

from collections.abc import Sequence
from typing import Protocol

from radarstream.schemas.evidence import FloatArray


class Embedder(Protocol):
    """A sentence embedding model."""

    @property
    def model_id(self) -> str:
        """Weights, revision and settings that decide results, as one stable string."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit Euclidean length, one a text, in order. Raises ModelError."""
        ...
