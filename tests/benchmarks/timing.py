"""Times that can be divided by each other."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import TypeVar

InputT = TypeVar("InputT")


def interleaved(
    contenders: Mapping[str, Callable[[InputT], object]], inputs: Sequence[InputT]
) -> dict[str, float]:
    """Median seconds of one call of each contender, every one called once on every input.

    They take turns input by input, so that a busy machine slows all of them alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for value in inputs:
        for name, call in contenders.items():
            start = perf_counter()
            call(value)
            seconds[name].append(perf_counter() - start)
    return {name: median(times) for name, times in seconds.items()}
