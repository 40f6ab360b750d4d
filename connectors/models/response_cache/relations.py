"""Relations of answers that are remembered."""

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
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair


class _RelationScorer(Model, Protocol):
    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray: ...


class CachedRelations(WriteThrough[_RelationScorer, AnswerPair, FloatArray]):
    """A relation scorer that remembers."""

    kind = "relation/1"

    def __init__(self, model: _RelationScorer, cache: ResponseCache, *, chunk: int = 1024) -> None:
        super().__init__(model, cache, chunk=chunk)

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows: entailment, neutral, contradiction. Raises ModelError."""
        rows = self._answers(pairs)
        return np.stack(rows) if rows else np.empty((0, 3))

    def _request_digest(self, request: AnswerPair) -> bytes:
        return digest_of(request.question, request.premise, request.hypothesis)

    def _subject(self, request: AnswerPair) -> bytes:
        return question_subject(request.question)

    def _ask(self, requests: Sequence[AnswerPair]) -> Sequence[FloatArray]:
        rows = checked_rows(self._model.probabilities(requests), self.model_id)
        if rows.shape[1] != 3 or (rows < 0.0).any() or (rows > 1.0).any():
            raise ModelError(f"{self.model_id} did not return rows of three probabilities")
        return list(rows)

    def _encode(self, answer: FloatArray) -> bytes:
        return answer.astype("<f8").tobytes()

    def _decode(self, value: bytes) -> FloatArray:
        return np.frombuffer(value, "<f8").astype(np.float64)
