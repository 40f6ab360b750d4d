"""Batches of requests: removes duplicates, divides into parts, restores the order."""

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
    """A generator that returns each completion of a batch as soon as it is finished."""

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield the index of every prompt once, in any order, with its completion or ModelError.

        Raises ModelError if the whole call fails.
        """


def in_order(outcomes: Iterable[Outcome], count: int) -> list[Completion]:
    """Return the completions of prompts 0 to `count` - 1.

    Raises PartialModelError if prompts failed, ModelError if outcomes are missing.
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
    """Return each distinct request with its indices."""
    found: dict[RequestT, list[int]] = {}
    for index, request in enumerate(requests):
        found.setdefault(request, []).append(index)
    return found


def once_each(
    score: Callable[[list[RequestT]], FloatArray], requests: Sequence[RequestT]
) -> FloatArray:
    """Return the rows of requests, in order; `score` gets each distinct request once."""
    row = {request: index for index, request in enumerate(dict.fromkeys(requests))}
    return score(list(row))[[row[request] for request in requests]]


def split(
    items: Iterable[ItemT], is_full: Callable[[list[ItemT], ItemT], bool]
) -> Iterator[list[ItemT]]:
    """Divide items into parts, in order; a part ends if it `is_full` for the next item."""
    part: list[ItemT] = []
    for item in items:
        if part and is_full(part, item):
            yield part
            part = []
        part.append(item)
    if part:
        yield part


def by_length(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield indices of similar lengths, `size` at a time; the longest first, to fail early."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    return split(order, lambda part, _: len(part) == size)
