"""Questions whose answer is a text: the same defences, asked for descriptions."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from radarstream.pipelines.signals.long_form import answering_at_length
from radarstream.pipelines.signals.ports import Models

ItemT = TypeVar("ItemT")
OutT = TypeVar("OutT")


def in_its_form(
    items: Sequence[ItemT],
    is_long: Callable[[ItemT], bool],
    work: Callable[[Sequence[ItemT], Models], Sequence[OutT]],
    models: Models,
) -> list[OutT]:
    """What `work` makes of the items, in order; those for a long answer in a batch of their own,
    with models that answer at length.
    """
    found: dict[int, OutT] = {}
    for form in (False, True):
        places = [place for place, item in enumerate(items) if is_long(item) is form]
        if places:
            asked = answering_at_length(models) if form else models
            made = work([items[place] for place in places], asked)
            found.update(zip(places, made, strict=True))
    return [found[place] for place in range(len(items))]
