"""What a defence was sent, checked: a malformed response is its caller's mistake."""

from typing import Any

import numpy as np

from schemas.errors import EvidenceError
from schemas.evidence import FloatArray


def relation_rows(response: Any, count: int) -> FloatArray:
    """The response to a `Relate` of `count` pairs as (count, 3) probabilities.

    Raises EvidenceError on another shape or a value outside [0, 1].
    """
    rows = finite_rows("relations", response, count)
    if rows.shape[1] != 3 or (count and (rows.min() < 0.0 or rows.max() > 1.0)):
        raise EvidenceError("relations must be three probabilities a row")
    return rows


def embedding_rows(response: Any, count: int) -> FloatArray:
    """The response to an `Embed` of `count` texts as a (count, d) matrix, d > 0.

    Raises EvidenceError on another shape or a value that is not finite.
    """
    return finite_rows("embeddings", response, count)


def log_prob_rows(response: Any, count: int) -> FloatArray:
    """The response to `LogProbs` of `count` rows as a (count, t) matrix, t > 0.

    A probability may be 0, its logarithm minus infinity. Raises EvidenceError on another shape or a
    value that is no logarithm.
    """
    rows = np.asarray(response, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EvidenceError(f"token probabilities must have {count} rows, got shape {rows.shape}")
    if np.isnan(rows).any() or (rows == np.inf).any():
        raise EvidenceError("token probabilities hold a value that is no logarithm")
    return rows


def norm_values(response: Any, count: int) -> FloatArray:
    """The response to `Norms` of `count` texts as (count,) lengths. Raises EvidenceError."""
    lengths = np.asarray(response, dtype=np.float64)
    if lengths.shape != (count,) or not np.isfinite(lengths).all():
        raise EvidenceError(f"norms must be {count} finite lengths, got shape {lengths.shape}")
    return lengths


def finite_rows(name: str, response: Any, count: int) -> FloatArray:
    """A response as a finite (count, d) float64 matrix, d > 0. Raises EvidenceError otherwise."""
    rows = np.asarray(response, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EvidenceError(f"{name} must have {count} rows, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise EvidenceError(f"{name} hold a value that is not finite")
    return rows
