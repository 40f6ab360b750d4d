"""How a method asks: one request out, its response back and checked.

A malformed response is its sender's mistake and raises EvidenceError. No method sees one.
"""

from collections.abc import Callable, Generator
from typing import Any, TypeVar, overload

import numpy as np

from radarstream.defenses.protocol import (
    AttemptAll,
    Attention,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    MaskedTokenProbabilities,
    Norms,
    ProbeGradients,
    Relate,
    Request,
    TokenSaliences,
)
from radarstream.schemas.arrays import (
    embedding_rows,
    gram_matrices,
    log_prob_rows,
    norm_values,
    probabilities,
    relation_rows,
    shares,
)
from radarstream.schemas.errors import EvidenceError, ModelError
from radarstream.schemas.evidence import AtomicAnswer, FloatArray
from radarstream.schemas.gradients import MaskedQuery, SalienceQuery, TokenSalience

ResultT = TypeVar("ResultT")
Asking = Generator[Request, Any, ResultT]


@overload
def ask(request: Complete) -> Asking[AtomicAnswer]: ...
@overload
def ask(request: CompleteAll) -> Asking[tuple[AtomicAnswer, ...]]: ...
@overload
def ask(
    request: Relate | Embed | Norms | LogProbs | ProbeGradients | Attention,
) -> Asking[FloatArray]: ...
@overload
def ask(request: AttemptAll) -> Asking[tuple[Any, ...]]: ...
@overload
def ask(
    request: LogProbsAll | MaskedTokenProbabilities,
) -> Asking[tuple[FloatArray, ...]]: ...
@overload
def ask(request: TokenSaliences) -> Asking[tuple[tuple[TokenSalience, ...], ...]]: ...
def ask(request: Request) -> Asking[Any]:
    """Yield one request and return its response as `radarstream.defenses.protocol` describes it.

    Raises EvidenceError when the response is malformed.
    """
    return checked_response(request, (yield request))


def checked_response(request: Request, response: Any) -> Any:
    """The response to `request`, numbers as float64 arrays. Raises EvidenceError."""
    match request:
        case Complete():
            return checked_answer(response)
        case Relate(premises=premises):
            return checked_array(relation_rows, response, len(premises))
        case Embed(texts=texts):
            return checked_array(embedding_rows, response, len(texts))
        case Norms(texts=texts):
            return checked_array(norm_values, response, len(texts))
        case LogProbs(rows=rows):
            return checked_array(log_prob_rows, response, len(rows))
        case ProbeGradients() | TokenSaliences() | MaskedTokenProbabilities() | Attention():
            return checked_insight(request, response)
        case AttemptAll(requests=requests):
            return checked_parts(requests, response, or_failure)
        case CompleteAll(requests=requests) | LogProbsAll(requests=requests):
            return checked_parts(requests, response, checked_response)


def checked_parts(
    requests: tuple[Any, ...], response: Any, check: Callable[[Any, Any], Any]
) -> tuple[Any, ...]:
    """One checked part per request, in order."""
    if not isinstance(response, tuple) or len(response) != len(requests):
        raise EvidenceError(f"expected a tuple of {len(requests)} responses, got {kind(response)}")
    return tuple(check(request, part) for request, part in zip(requests, response, strict=True))


def or_failure(request: Request, response: Any) -> Any:
    """The response to an attempt, which may be the ModelError it failed with."""
    return response if isinstance(response, ModelError) else checked_response(request, response)


def checked_insight(
    request: ProbeGradients | TokenSaliences | MaskedTokenProbabilities | Attention, response: Any
) -> Any:
    """What a network says of its own workings."""
    match request:
        case ProbeGradients(queries=queries):
            grams = checked_array(gram_matrices, response, len(queries))
            if any(grams.shape[1] != query.runs for query in queries):
                raise EvidenceError("there must be a gradient for every run")
            return grams
        case TokenSaliences(queries=queries):
            return checked_parts(queries, response, checked_saliences)
        case MaskedTokenProbabilities(queries=queries):
            return checked_parts(queries, response, checked_probabilities)
        case Attention(row=row):
            return checked_array(shares, response, len(row.passages))


def checked_saliences(query: SalienceQuery, response: Any) -> tuple[TokenSalience, ...]:
    """Tokens within the passage, none with a negative length."""
    if not isinstance(response, tuple) or not all(isinstance(t, TokenSalience) for t in response):
        raise EvidenceError(f"expected tokens with their lengths, got {kind(response)}")
    end = len(query.passage)
    if not all(0 <= t.start <= t.stop <= end and not t.length < 0.0 for t in response):
        raise EvidenceError("a token is outside its passage, or its length is no length")
    return response


def checked_probabilities(query: MaskedQuery, response: Any) -> FloatArray:
    """One probability per span."""
    return checked_array(probabilities, response, len(query.spans))


def checked_answer(response: Any) -> AtomicAnswer:
    """An answer that says something, or an abstention."""
    if not isinstance(response, AtomicAnswer):
        raise EvidenceError(f"expected an answer, got {kind(response)}")
    if not isinstance(response.text, str) or not isinstance(response.abstained, bool):
        raise EvidenceError(
            f"an answer must be a text and a flag, got {kind(response.text)} and "
            f"{kind(response.abstained)}"
        )
    if not response.abstained and not response.text.strip():
        raise EvidenceError("an answer without text must be an abstention")
    return response


def checked_array(check: Callable[[Any, int], FloatArray], response: Any, count: int) -> FloatArray:
    """The response as `check` returns it, as the method's own copy. Raises EvidenceError."""
    try:
        return np.array(check(response, count))
    except ValueError as error:
        raise EvidenceError(str(error)) from error


def kind(value: Any) -> str:
    """The name of a value's type, for messages."""
    return type(value).__name__
