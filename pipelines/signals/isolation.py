"""Keeps one item's failed model call from failing the batch it came in."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from radarstream.schemas.errors import ModelError, PartialModelError

InT = TypeVar("InT")
OutT = TypeVar("OutT")


def isolating(
    call: Callable[[Sequence[InT]], Sequence[OutT]], batch: Sequence[InT]
) -> list[OutT | ModelError]:
    """Call with the whole batch; what failed is its ModelError.

    A call that says which items failed is believed. One that does not is repeated item by item.
    """
    try:
        return [*call(batch)]
    except PartialModelError as error:
        return [*error.outcomes]
    except ModelError as error:
        if len(batch) == 1:
            return [error]
    # Not inside the handler: an error of a single item must not seem to follow from the batch's.
    return [isolating(call, [item])[0] for item in batch]
