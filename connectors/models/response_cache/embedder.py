"""Embeddings that are remembered."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from radarstream.connectors.models.response_cache.store import ResponseCache
from radarstream.connectors.models.response_cache.write_through import (
    Model,
    WriteThrough,
    checked_rows,
    digest_of,
)
from radarstream.connectors.state_table.queries.subject import EMBEDDINGS
from radarstream.schemas.evidence import FloatArray


class _Embedder(Model, Protocol):
    def embed(self, texts: Sequence[str]) -> FloatArray: ...


class CachedEmbedder(WriteThrough[_Embedder, str, FloatArray]):
    """An embedder that remembers, in single precision: rows keep unit length to about 1e-7."""

    kind = "embedding/1"

    def __init__(self, model: _Embedder, cache: ResponseCache, *, chunk: int = 256) -> None:
        super().__init__(model, cache, chunk=chunk)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit length, float64. Raises ModelError."""
        if not texts:
            return self._model.embed(texts)  # only the model knows d
        return np.stack(self._answers(texts))

    def _request_digest(self, request: str) -> bytes:
        return digest_of(request)

    def _subject(self, request: str) -> bytes:  # noqa: ARG002 all texts alike
        return EMBEDDINGS

    def _ask(self, requests: Sequence[str]) -> Sequence[FloatArray]:
        return list(checked_rows(self._model.embed(requests), self.model_id))

    def _encode(self, answer: FloatArray) -> bytes:
        return answer.astype("<f4").tobytes()

    def _decode(self, value: bytes) -> FloatArray:
        return np.frombuffer(value, "<f4").astype(np.float64)
