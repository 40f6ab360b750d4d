"""Model responses checked at the edge: a malformed one is a failed call, never evidence."""

from collections.abc import Sequence

import numpy as np

from schemas.errors import ModelError
from schemas.evidence import FloatArray
from schemas.prompt import Completion


def completion_texts(completions: Sequence[Completion], count: int) -> list[str]:
    """Return the texts if there is one completion per prompt; ModelError otherwise."""
    if len(completions) != count:
        raise ModelError(f"expected {count} completions, got {len(completions)}")
    return [completion.text for completion in completions]


def relation_rows(rows: FloatArray, count: int) -> FloatArray:
    """Return `rows` if they are (count, 3) probabilities; ModelError otherwise."""
    checked = finite_rows("relations", rows, count)
    if count and (checked.shape[1] != 3 or checked.min() < 0.0 or checked.max() > 1.0):
        raise ModelError("relations are not three probabilities a pair")
    return checked


def embedding_rows(rows: FloatArray, count: int) -> FloatArray:
    """Return `rows` if they are count finite vectors; ModelError otherwise."""
    checked = finite_rows("embeddings", rows, count)
    if count and checked.shape[1] == 0:
        raise ModelError("embeddings have no dimension")
    return checked


def finite_rows(name: str, rows: FloatArray, count: int) -> FloatArray:
    """Return `rows` if they are a finite matrix of `count` rows; ModelError otherwise."""
    if rows.ndim != 2 or rows.shape[0] != count:
        raise ModelError(f"{name}: expected {count} rows, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ModelError(f"{name} hold a value that is not finite")
    return rows
