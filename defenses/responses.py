"""How a method asks: one request out, its response back and checked.

A malformed response is its sender's mistake and raises EvidenceError. No method sees one.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, Final, TypeVar, overload

import numpy as np

from radarstream.defenses.protocol import (
    AttemptAll,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    NextTokens,
    NextTokenStep,
    Norms,
    Relate,
    Request,
)
from radarstream.schemas.errors import EvidenceError, ModelError
from radarstream.schemas.evidence import AtomicAnswer, FloatArray

ResultT = TypeVar("ResultT")
Asking = Generator[Request, Any, ResultT]
_SUM_TOLERANCE: Final = 1e-3  # of a row of probabilities; models compute in half precision


@overload
def ask(request: Complete) -> Asking[AtomicAnswer]: ...
@overload
def ask(request: CompleteAll) -> Asking[tuple[AtomicAnswer, ...]]: ...
@overload
def ask(request: Relate | Embed | Norms | LogProbs) -> Asking[FloatArray]: ...
@overload
def ask(request: AttemptAll) -> Asking[tuple[Any, ...]]: ...
@overload
def ask(request: NextTokens) -> Asking[NextTokenStep]: ...
@overload
def ask(request: LogProbsAll) -> Asking[tuple[FloatArray, ...]]: ...
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
            return relation_rows(response, len(premises))
        case Embed(texts=texts):
            return finite_rows("embeddings", response, len(texts))
        case Norms(texts=texts):
            return norm_values(response, len(texts))
        case NextTokens(rows=rows):
            return checked_step(response, len(rows))
        case LogProbs(rows=rows):
            return log_prob_rows(response, len(rows))
        case AttemptAll(requests=requests):
            return checked_parts(requests, response, or_failure)
        case CompleteAll(requests=requests) | LogProbsAll(requests=requests):
            return checked_parts(requests, response, checked_response)


def checked_parts(
    requests: tuple[Request, ...], response: Any, check: Callable[[Request, Any], Any]
) -> tuple[Any, ...]:
    """One checked part per request, in order."""
    if not isinstance(response, tuple) or len(response) != len(requests):
        raise EvidenceError(f"expected a tuple of {len(requests)} responses, got {kind(response)}")
    return tuple(check(request, part) for request, part in zip(requests, response, strict=True))


def or_failure(request: Request, response: Any) -> Any:
    """The response to an attempt, which may be the ModelError it failed with."""
    return response if isinstance(response, ModelError) else checked_response(request, response)


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


def checked_step(response: Any, count: int) -> NextTokenStep:
    """What follows a prefix in each of `count` replies: whole distributions, and a reply so far."""
    if not isinstance(response, NextTokenStep):
        raise EvidenceError(f"expected the next tokens, got {kind(response)}")
    rows = log_prob_rows(response.log_probs, count)
    if np.abs(np.exp(rows).sum(axis=1) - 1.0).max(initial=0.0) > _SUM_TOLERANCE:
        raise EvidenceError("token probabilities of a row do not sum to 1")
    reply, tokens = response.reply, (response.stops, response.refusals)
    if not isinstance(reply, AtomicAnswer) or not isinstance(reply.text, str):
        raise EvidenceError(f"expected the reply so far, got {kind(reply)}")
    if not isinstance(response.ended, bool) or not all(isinstance(t, frozenset) for t in tokens):
        raise EvidenceError("whether a reply ended must be a flag; what ends or refuses, sets")
    return replace(response, log_probs=rows)


def relation_rows(response: Any, count: int) -> FloatArray:
    """The response to a `Relate` of `count` pairs as (count, 3) probabilities.

    Raises EvidenceError on another shape or a value outside [0, 1].
    """
    rows = finite_rows("relations", response, count)
    if rows.shape[1] != 3 or (count and (rows.min() < 0.0 or rows.max() > 1.0)):
        raise EvidenceError("relations must be three probabilities a row")
    return rows


def log_prob_rows(response: Any, count: int) -> FloatArray:
    """The response to `LogProbs` of `count` rows as a (count, t) matrix, t > 0.

    A probability may be 0, its logarithm minus infinity. Raises EvidenceError on another shape or a
    value that is no logarithm of a probability.
    """
    rows = matrix("token probabilities", response, count)
    if np.isnan(rows).any() or (rows > _SUM_TOLERANCE).any():
        raise EvidenceError(
            "token probabilities hold a value that is no logarithm of a probability"
        )
    return rows


def norm_values(response: Any, count: int) -> FloatArray:
    """The response to `Norms` of `count` texts as (count,) lengths, > 0. Raises EvidenceError."""
    lengths = numbers("norms", response)
    if lengths.shape != (count,) or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise EvidenceError(f"norms must be {count} positive lengths, got shape {lengths.shape}")
    return lengths


def finite_rows(name: str, response: Any, count: int) -> FloatArray:
    """A response as a finite (count, d) float64 matrix, d > 0. Raises EvidenceError otherwise."""
    rows = matrix(name, response, count)
    if not np.isfinite(rows).all():
        raise EvidenceError(f"{name} hold a value that is not finite")
    return rows


def matrix(name: str, response: Any, count: int) -> FloatArray:
    """A response as a (count, d) float64 matrix, d > 0. Raises EvidenceError otherwise."""
    rows = numbers(name, response)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EvidenceError(f"{name} must have {count} rows, got shape {rows.shape}")
    return rows


def numbers(name: str, response: Any) -> FloatArray:
    """A response as a float64 array. Raises EvidenceError when it holds anything but numbers."""
    try:
        array = np.asarray(response)
    except ValueError as error:  # rows of different lengths
        raise EvidenceError(f"{name} are no array of numbers") from error
    if array.dtype.kind not in "fiu":
        raise EvidenceError(f"{name} must be numbers, got {kind(response)} of {array.dtype}")
    return array.astype(np.float64)


def kind(value: Any) -> str:
    """The name of a value's type, for messages."""
    return type(value).__name__
