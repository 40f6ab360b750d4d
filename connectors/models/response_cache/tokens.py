"""Probabilities of continuations that are remembered."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from radarstream.connectors.models.response_cache.store import ResponseCache
from radarstream.connectors.models.response_cache.write_through import (
    Model,
    WriteThrough,
    digest_of,
)
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Prompt
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows


class _TokenScorer(Model, Protocol):
    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]: ...

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]: ...


_Row = tuple[Prompt, str]  # with the continuation


class CachedTokens(WriteThrough[_TokenScorer, _Row, FloatArray]):
    """A token scorer that remembers how probable continuations were, prompt by prompt.

    Whole distributions of next tokens are a megabyte each, and are passed on only.
    """

    kind = "log-probs/1"

    def __init__(self, model: _TokenScorer, cache: ResponseCache, *, chunk: int = 32) -> None:
        super().__init__(model, cache, chunk=chunk)

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query, in order. Raises ModelError."""
        return self._model.next_tokens(queries)

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms. Raises ModelError."""
        rows = iter(self._answers([(p, q.continuation) for q in queries for p in q.prompts]))
        return [
            np.stack([next(rows) for _ in query.prompts]) if query.prompts else np.empty((0, 1))
            for query in queries
        ]

    def _request_digest(self, request: _Row) -> bytes:
        return request[0].digest() + digest_of(request[1])

    def _subject(self, request: _Row) -> bytes:
        return question_subject(request[0].question)

    def _ask(self, requests: Sequence[_Row]) -> Sequence[FloatArray]:
        """Ask for the prompts of a continuation together: they share their beginning."""
        places: dict[str, list[int]] = {}
        for index, (_, continuation) in enumerate(requests):
            places.setdefault(continuation, []).append(index)
        queries = [
            ContinuationQuery(tuple(requests[i][0] for i in indices), continuation)
            for continuation, indices in places.items()
        ]
        found: dict[int, FloatArray] = {}
        for rows, indices in zip(self._model.log_probs(queries), places.values(), strict=True):
            if rows.ndim != 2 or len(rows) != len(indices) or np.isnan(rows).any():
                raise ModelError(f"{self.model_id} did not return a row of numbers per prompt")
            found |= dict(zip(indices, rows, strict=True))
        return [found[index] for index in range(len(requests))]

    def _encode(self, answer: FloatArray) -> bytes:
        return answer.astype("<f8").tobytes()

    def _decode(self, value: bytes) -> FloatArray:
        return np.frombuffer(value, "<f8").astype(np.float64)
