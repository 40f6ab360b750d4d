"""Checks responses of models; a malformed one is a failed call."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from radarstream.pipelines.signals.ports import Generator, RelationScorer
from radarstream.schemas.arrays import relation_rows
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt

InT = TypeVar("InT")
OutT = TypeVar("OutT")


def completion_texts(generator: Generator, prompts: Sequence[Prompt]) -> list[str | ModelError]:
    """Complete the prompts in one call; return a ModelError for a failed prompt.

    Raises ModelError if the whole call failed or does not give one completion per prompt.
    """
    completions: Sequence[Completion | ModelError]
    try:
        completions = generator.complete(prompts)
    except PartialModelError as error:
        completions = error.outcomes
    if len(completions) != len(prompts):
        raise ModelError(f"expected {len(prompts)} completions, got {len(completions)}")
    return [c if isinstance(c, ModelError) else c.text for c in completions]


def relation_outcomes(
    scorer: RelationScorer, pairs: Sequence[AnswerPair]
) -> list[FloatArray | ModelError]:
    """Return the (3,) row of each pair, or the ModelError of a failed pair.

    Raises ModelError if the whole call failed or does not return probabilities.
    """
    try:
        rows = scorer.probabilities(pairs) if pairs else np.zeros((0, 3))
    except PartialModelError as error:
        found: list[FloatArray | ModelError] = list(error.outcomes)
        good = [row for row in found if not isinstance(row, ModelError)]
        checked(relation_rows, np.array(good).reshape(-1, 3), len(good))
        if len(found) != len(pairs):
            raise ModelError(f"expected {len(pairs)} relations, got {len(found)}") from error
        return found
    return list(checked(relation_rows, rows, len(pairs)))


def together(outcomes: Sequence[OutT | ModelError]) -> list[OutT] | ModelError:
    """Return the outcomes of one item, or the first failure among them."""
    answered: list[OutT] = []
    for outcome in outcomes:
        if isinstance(outcome, ModelError):
            return outcome
        answered.append(outcome)
    return answered


def isolating(
    call: Callable[[Sequence[InT]], Sequence[OutT]], batch: Sequence[InT]
) -> list[OutT | ModelError]:
    """Call with the whole batch; return a ModelError for each failed item.

    If a failed call does not say which items failed, it is repeated item by item.
    """
    try:
        return [*call(batch)]
    except PartialModelError as error:
        return [*error.outcomes]
    except ModelError as error:
        if len(batch) == 1:
            return [error]
    # Outside the handler, so that an item's error does not have the batch's as context.
    return [isolating(call, [item])[0] for item in batch]


def or_raise(outcome: OutT | ModelError) -> OutT:
    """Return the outcome, or raise it if it is a ModelError."""
    if isinstance(outcome, ModelError):
        raise outcome
    return outcome


def all_answered(outcomes: Sequence[OutT | ModelError]) -> list[OutT]:
    """Return the outcomes. Raises PartialModelError if any failed."""
    answered = [outcome for outcome in outcomes if not isinstance(outcome, ModelError)]
    if len(answered) < len(outcomes):
        raise PartialModelError(outcomes)
    return answered


def checked(check: Callable[[Any, int], FloatArray], response: Any, count: int) -> FloatArray:
    """Check a model's response to `count` requests by a function of `schemas.arrays`.

    Raises ModelError. A response without rows may have any number of columns.
    """
    if count == 0 and np.ndim(response) == 2 and len(response) == 0:
        return np.asarray(response)
    try:
        return check(response, count)
    except ValueError as error:
        raise ModelError(str(error)) from error
