"""Where the time of some work goes, by function."""

from collections.abc import Callable, Mapping, Sequence
from cProfile import Profile
from pstats import Stats
from typing import Any


def shares(work: Callable[[], object], functions: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """Percent of the work's time spent in each group of functions and in what those call.

    The functions of a group must not call each other. Profiling itself makes calls in Python look
    slower than loops in C are.
    """
    profile = Profile()
    profile.runcall(work)
    stats = Stats(profile)
    spent = {place: cumulative for place, (_, _, _, cumulative, _) in stats.stats.items()}  # type: ignore[attr-defined]
    codes = {
        name: [
            (f.__code__.co_filename, f.__code__.co_firstlineno, f.__code__.co_name) for f in group
        ]
        for name, group in functions.items()
    }
    total = stats.total_tt  # type: ignore[attr-defined]
    return {
        name: 100.0 * sum(spent.get(place, 0.0) for place in places) / total
        for name, places in codes.items()
    }
