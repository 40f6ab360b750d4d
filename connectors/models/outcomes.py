"""Generators that give each completion as soon as it is there, and their plain batch call."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.prompt import Completion, Prompt

Outcome = tuple[int, Completion | ModelError]


@runtime_checkable
class AnswersEach(Protocol):
    """A generator whose finished completions need not wait for the others of their batch."""

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield every prompt's index once, with its completion or why there is none, any order.

        Raises ModelError when no prompt is left that could be answered.
        """
        ...


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
