"""Arrays that models return, checked: shape, range and finite values.

Every function returns the response to `count` requests as float64, or raises ValueError, which its
caller turns into the error of its own layer.
"""

from typing import Any, Final

import numpy as np

from radarstream.schemas.evidence import FloatArray

_SUM_TOLERANCE: Final = 1e-3  # of a row of probabilities; models compute in half precision


def relation_rows(response: Any, count: int) -> FloatArray:
    """(count, 3) probabilities."""
    rows = _finite_rows("relations", response, count)
    if rows.shape[1] != 3 or (count and (rows.min() < 0.0 or rows.max() > 1.0)):
        raise ValueError("relations must be three probabilities a row")
    return rows


def embedding_rows(response: Any, count: int) -> FloatArray:
    """(count, d) finite numbers, d > 0."""
    return _finite_rows("embeddings", response, count)


def norm_values(response: Any, count: int) -> FloatArray:
    """(count,) lengths, > 0."""
    lengths = _numbers("norms", response)
    if lengths.shape != (count,) or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise ValueError(f"norms must be {count} positive lengths, got shape {lengths.shape}")
    return lengths


def gram_matrices(response: Any, count: int) -> FloatArray:
    """(count, r, r) inner products, r >= 2; a matrix with a NaN is NaN throughout."""
    grams = _numbers("gradients", response)
    if grams.ndim != 3 or len(grams) != count or grams.shape[1] != grams.shape[2]:
        raise ValueError(f"gradients must be {count} square matrices, got shape {grams.shape}")
    finite = np.isfinite(grams).all(axis=(1, 2), keepdims=True)
    if (np.diagonal(grams, axis1=1, axis2=2) < 0.0).any():
        raise ValueError("the inner product of a gradient with itself must not be negative")
    return np.where(finite, grams, np.nan)


def probabilities(response: Any, count: int) -> FloatArray:
    """(count,) probabilities."""
    values = _numbers("probabilities", response)
    if values.shape != (count,) or not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(f"there must be {count} probabilities, got shape {values.shape}")
    return values


def shares(response: Any, count: int) -> FloatArray:
    """(count,) percentages that sum to 100, or all 0."""
    values = _numbers("shares", response)
    if values.shape != (count,) or not ((values >= 0.0) & np.isfinite(values)).all():
        raise ValueError(f"there must be {count} shares, got shape {values.shape}")
    if values.any() and abs(values.sum() - 100.0) > 100.0 * _SUM_TOLERANCE:
        raise ValueError("shares do not sum to 100 percent")
    return values


def log_prob_rows(response: Any, count: int) -> FloatArray:
    """(count, t) natural logarithms of probabilities, t > 0.

    A probability may be 0, its logarithm minus infinity.
    """
    rows = _matrix("token probabilities", response, count)
    if np.isnan(rows).any() or (rows > _SUM_TOLERANCE).any():
        raise ValueError("token probabilities hold a value that is no logarithm of a probability")
    return rows


def _finite_rows(name: str, response: Any, count: int) -> FloatArray:
    rows = _matrix(name, response, count)
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} hold a value that is not finite")
    return rows


def _matrix(name: str, response: Any, count: int) -> FloatArray:
    rows = _numbers(name, response)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise ValueError(f"{name} must have {count} rows, got shape {rows.shape}")
    return rows


def _numbers(name: str, response: Any) -> FloatArray:
    try:
        array = np.asarray(response)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} are no array of numbers") from error
    if array.dtype.kind not in "fiu":
        kind = type(response).__name__
        raise ValueError(f"{name} must be numbers, got {kind} of {array.dtype}")
    return array.astype(np.float64, copy=False)
