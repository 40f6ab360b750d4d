"""Batches of requests: equal ones once, neighbours together, results in order."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Completion, Prompt

Outcome = tuple[int, Completion | ModelError]
ItemT = TypeVar("ItemT")
RequestT = TypeVar("RequestT", bound=Hashable)


@runtime_checkable
class AnswersEach(Protocol):
    """A generator whose finished completions need not wait for the others of their batch."""

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield every prompt's index once, with its completion or why there is none, any order.

        Raises ModelError when no prompt is left that could be answered.
        """


def in_order(outcomes: Iterable[Outcome], count: int) -> list[Completion]:
    """Return the completions of prompts 0 to `count` - 1.

    Raises PartialModelError when prompts failed, ModelError when some are missing.
    """
    found = dict(outcomes)
    if found.keys() != set(range(count)):
        raise ModelError(f"{len(found)} of {count} prompts were answered")
    ordered = [found[index] for index in range(count)]
    completions = [outcome for outcome in ordered if isinstance(outcome, Completion)]
    if len(completions) < count:
        raise PartialModelError(ordered)
    return completions


def places(requests: Iterable[RequestT]) -> dict[RequestT, list[int]]:
    """Each different request with the indices where it stands."""
    found: dict[RequestT, list[int]] = {}
    for index, request in enumerate(requests):
        found.setdefault(request, []).append(index)
    return found


def once_each(
    score: Callable[[list[RequestT]], FloatArray], requests: Sequence[RequestT]
) -> FloatArray:
    """Rows of requests, in order, of which `score` is given each different one once."""
    row = {request: index for index, request in enumerate(dict.fromkeys(requests))}
    return score(list(row))[[row[request] for request in requests]]


def split(
    items: Iterable[ItemT], is_full: Callable[[list[ItemT], ItemT], bool]
) -> Iterator[list[ItemT]]:
    """Neighbours in parts; a part ends where it `is_full` for the next item."""
    part: list[ItemT] = []
    for item in items:
        if part and is_full(part, item):
            yield part
            part = []
        part.append(item)
    if part:
        yield part


def by_length(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Indices of neighbouring lengths, `size` at a time; longest first, so memory fails early."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    return split(order, lambda part, _: len(part) == size)
