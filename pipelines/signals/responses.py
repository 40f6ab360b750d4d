"""Model responses checked at the edge: a malformed one is a failed call, never evidence."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from radarstream.pipelines.signals.ports import Generator
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Completion, Prompt

OutT = TypeVar("OutT")


def completion_texts(generator: Generator, prompts: Sequence[Prompt]) -> list[str | ModelError]:
    """Complete the prompts in one call; a prompt that failed on its own is its ModelError.

    Raises ModelError when the call failed as a whole or does not give one completion per prompt.
    """
    completions: Sequence[Completion | ModelError]
    try:
        completions = generator.complete(prompts)
    except PartialModelError as error:
        completions = error.outcomes
    if len(completions) != len(prompts):
        raise ModelError(f"expected {len(prompts)} completions, got {len(completions)}")
    return [c if isinstance(c, ModelError) else c.text for c in completions]


def all_answered(outcomes: Sequence[OutT | ModelError]) -> list[OutT]:
    """Return the outcomes if none failed; PartialModelError otherwise."""
    answered = [outcome for outcome in outcomes if not isinstance(outcome, ModelError)]
    if len(answered) < len(outcomes):
        raise PartialModelError(outcomes)
    return answered


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


def norm_values(lengths: FloatArray, count: int) -> FloatArray:
    """Return `lengths` if they are count positive finite numbers; ModelError otherwise."""
    if lengths.shape != (count,) or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise ModelError(f"norms are not {count} positive lengths")
    return lengths


def finite_rows(name: str, rows: FloatArray, count: int) -> FloatArray:
    """Return `rows` if they are a finite matrix of `count` rows; ModelError otherwise."""
    if rows.ndim != 2 or rows.shape[0] != count:
        raise ModelError(f"{name}: expected {count} rows, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise ModelError(f"{name} hold a value that is not finite")
    return rows
