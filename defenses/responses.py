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


def finite_rows(name: str, response: Any, count: int) -> FloatArray:
    """A response as a finite (count, d) float64 matrix, d > 0. Raises EvidenceError otherwise."""
    rows = np.asarray(response, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EvidenceError(f"{name} must have {count} rows, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise EvidenceError(f"{name} hold a value that is not finite")
    return rows
