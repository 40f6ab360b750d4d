"""Checks arrays that models return: shape, range and finite values.

Every function returns the response to `count` requests as float64, or raises ValueError. Callers
turn that into an error of their own layer.
"""

from typing import Any, Final

import numpy as np

from radarstream.schemas.evidence import FloatArray

_TOLERANCE: Final = 1e-3  # by which a logarithm may exceed 0; models compute in half precision


def relation_rows(response: Any, count: int) -> FloatArray:
    """Return (count, 3) probabilities."""
    rows = _finite_rows("relations", response, count)
    if rows.shape[1] != 3 or (count and (rows.min() < 0.0 or rows.max() > 1.0)):
        raise ValueError("relations must be three probabilities a row")
    return rows


def embedding_rows(response: Any, count: int) -> FloatArray:
    """Return (count, d) finite numbers, d > 0."""
    return _finite_rows("embeddings", response, count)


def norm_values(response: Any, count: int) -> FloatArray:
    """Return (count,) lengths, > 0."""
    lengths = numbers("norms", response)
    if lengths.shape != (count,) or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise ValueError(f"norms must be {count} positive lengths, got shape {lengths.shape}")
    return lengths


def log_prob_rows(response: Any, count: int) -> FloatArray:
    """Return (count, t) natural logarithms of probabilities, t > 0; minus infinity is allowed."""
    rows = _matrix("token probabilities", response, count)
    if np.isnan(rows).any() or (rows > _TOLERANCE).any():
        raise ValueError("a token probability is not a logarithm of a probability")
    return rows


def _finite_rows(name: str, response: Any, count: int) -> FloatArray:
    rows = _matrix(name, response, count)
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} have a value that is not finite")
    return rows


def _matrix(name: str, response: Any, count: int) -> FloatArray:
    rows = numbers(name, response)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise ValueError(f"{name} must have {count} rows, got shape {rows.shape}")
    return rows


def numbers(name: str, response: Any) -> FloatArray:
    """Return the response as an array of float64; `name` is for the error."""
    try:
        array = np.asarray(response)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} are not an array of numbers") from error
    if array.dtype.kind not in "fiu":
        kind = type(response).__name__
        raise ValueError(f"{name} must be numbers, got {kind} of {array.dtype}")
    return array.astype(np.float64, copy=False)
