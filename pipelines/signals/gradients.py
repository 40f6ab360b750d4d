"""Gradients, masked tokens and attention for retrieval defences that ask for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from radarstream.defenses.protocol import (
    Attention,
    MaskedTokenProbabilities,
    ProbeGradients,
    TokenSaliences,
)
from radarstream.defenses.responses import checked_response
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import prompts_of
from radarstream.schemas.errors import EvidenceError, ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.tokens import AttentionQuery


def probe_all(models: Models, requests: Sequence[ProbeGradients]) -> list[Any]:
    """Ask for the Gram matrices of every request, one call per encoder and number of runs.

    Raises ModelError.
    """
    answers: list[list[FloatArray]] = [[] for _ in requests]
    groups: dict[tuple[bool, int], list[tuple[int, Any]]] = {}
    for place, request in enumerate(requests):
        for query in request.queries:
            groups.setdefault((request.surrogate, query.runs), []).append((place, query))
    for (surrogate, _), asked in groups.items():
        encoder = models.surrogate if surrogate else models.gradients
        if encoder is None:
            raise ModelError("no encoder tells gradients of its similarities")
        grams = _counted(encoder.probe([query for _, query in asked]), len(asked))
        for (place, _), gram in zip(asked, grams, strict=True):
            answers[place].append(gram)
    return [
        _checked(request, np.array(found) if found else np.empty((0, 2, 2)))
        for request, found in zip(requests, answers, strict=True)
    ]


def saliences_all(models: Models, requests: Sequence[TokenSaliences]) -> list[Any]:
    """Ask for the saliences of every request in one call. Raises ModelError."""
    if models.gradients is None:
        raise ModelError("no encoder tells gradients of its similarities")
    return _in_one_call(models.gradients.saliences, requests)


def masked_all(models: Models, requests: Sequence[MaskedTokenProbabilities]) -> list[Any]:
    """Ask for the probabilities of every request in one call. Raises ModelError."""
    if models.masked is None:
        raise ModelError("no configured model tells how probable hidden words are")
    return _in_one_call(models.masked.masked, requests)


def attention_all(models: Models, requests: Sequence[Attention]) -> list[Any]:
    """Ask how attention is shared, for every request in one call. Raises ModelError."""
    if models.attention is None:
        raise ModelError("no configured model tells how it shares its attention")
    prompts = prompts_of([request.row for request in requests])
    queries = [AttentionQuery(p, r.answer) for p, r in zip(prompts, requests, strict=True)]
    replies = _counted(models.attention.attention(queries), len(requests))
    return [_checked(*pair) for pair in zip(requests, replies, strict=True)]


def _in_one_call(
    ask: Any, requests: Sequence[TokenSaliences | MaskedTokenProbabilities]
) -> list[Any]:
    """The replies to all queries of all requests, a tuple for each request."""
    queries = [query for request in requests for query in request.queries]
    replies = iter(_counted(ask(queries), len(queries)))
    return [_checked(r, tuple(next(replies) for _ in r.queries)) for r in requests]


def _counted(replies: Any, count: int) -> Any:
    if len(replies) != count:
        raise ModelError(f"expected {count} replies, got {len(replies)}")
    return replies


def _checked(request: Any, response: Any) -> Any:
    """The response; a malformed one is a failed call."""
    try:
        return checked_response(request, response)
    except EvidenceError as error:
        raise ModelError(str(error)) from error
