"""Gradients, masked tokens and attention for retrieval defences that ask for them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from radarstream.defenses.protocol import (
    Attention,
    MaskedTokenProbabilities,
    ProbeGradients,
    TokenSaliences,
)
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import checked
from radarstream.pipelines.signals.token_probabilities import prompts_of
from radarstream.schemas.arrays import gram_matrices, probabilities, shares
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.gradients import MaskedQuery, SalienceQuery, TokenSalience
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
    for (surrogate, runs), asked in groups.items():
        encoder = models.surrogate if surrogate else models.gradients
        if encoder is None:
            raise ModelError("no encoder tells gradients of its similarities")
        grams = checked(gram_matrices, encoder.probe([query for _, query in asked]), len(asked))
        if grams.shape[1] != runs:
            raise ModelError("there must be a gradient for every run")
        for (place, _), gram in zip(asked, grams, strict=True):
            answers[place].append(gram)
    return [np.array(found) if found else np.empty((0, 2, 2)) for found in answers]


def saliences_all(models: Models, requests: Sequence[TokenSaliences]) -> list[Any]:
    """Ask for the saliences of every request in one call. Raises ModelError."""
    if models.gradients is None:
        raise ModelError("no encoder tells gradients of its similarities")
    return _in_one_call(models.gradients.saliences, requests, _saliences)


def masked_all(models: Models, requests: Sequence[MaskedTokenProbabilities]) -> list[Any]:
    """Ask for the probabilities of every request in one call. Raises ModelError."""
    if models.masked is None:
        raise ModelError("no configured model tells how probable hidden words are")
    return _in_one_call(models.masked.masked, requests, _probabilities)


def attention_all(models: Models, requests: Sequence[Attention]) -> list[Any]:
    """Ask how attention is shared, for every request in one call. Raises ModelError."""
    if models.attention is None:
        raise ModelError("no configured model tells how it shares its attention")
    prompts = prompts_of([request.row for request in requests])
    queries = [AttentionQuery(p, r.answer) for p, r in zip(prompts, requests, strict=True)]
    replies = _counted(models.attention.attention(queries), len(requests))
    return [
        checked(shares, reply, len(request.row.passages))
        for request, reply in zip(requests, replies, strict=True)
    ]


def _in_one_call(
    ask: Callable[[list[Any]], Sequence[Any]],
    requests: Sequence[TokenSaliences | MaskedTokenProbabilities],
    check: Callable[[Any, Any], Any],
) -> list[Any]:
    """The checked replies to all queries of all requests, a tuple for each request."""
    queries = [query for request in requests for query in request.queries]
    replies = iter(_counted(ask(queries), len(queries)))
    return [tuple(check(query, next(replies)) for query in r.queries) for r in requests]


def _counted(replies: Sequence[Any], count: int) -> Sequence[Any]:
    if len(replies) != count:
        raise ModelError(f"expected {count} replies, got {len(replies)}")
    return replies


def _saliences(query: SalienceQuery, reply: Sequence[TokenSalience]) -> tuple[TokenSalience, ...]:
    """Tokens within the passage, none with a negative length."""
    end = len(query.passage)
    if not all(0 <= t.start <= t.stop <= end and not t.length < 0.0 for t in reply):
        raise ModelError("a token is outside its passage, or its length is no length")
    return tuple(reply)


def _probabilities(query: MaskedQuery, reply: FloatArray) -> FloatArray:
    return checked(probabilities, reply, len(query.spans))
