"""Finds parts of one text that occur in another."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

GRAM: Final = 4  # characters
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)  # mixes the characters of a gram into one number


def copied_runs(part: str, whole: str, ends: Sequence[int], least: int) -> list[tuple[int, int]]:
    """Find the spans of `part` that are at least `least` successive words of `whole`.

    Both texts are words without anything between them; `ends` has where those of `whole` end.
    Returns (start, end) in `part`, ascending and disjoint.
    """
    windows: defaultdict[int, set[str]] = defaultdict(set)  # by length
    for start, end in zip([0, *ends], ends[least - 1 :], strict=False):
        windows[end - start].add(whole[start:end])
    return merged(
        (start, start + length)
        for length, texts in windows.items()
        for start in range(len(part) - length + 1)
        if part[start : start + length] in texts
    )


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans that overlap or touch; ascending."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def contained_share(part: str, whole: str) -> float:
    """Return the largest share of the distinct character 4-grams of `part` in a window of `whole`.

    The window has twice the length of `part`, because a long text has most grams of its language.
    0 if `part` is shorter than a gram.
    """
    grams = np.unique(_grams(part))
    if not len(grams):
        return 0.0
    listed = _grams(whole)
    places = np.searchsorted(grams, listed)
    known = grams[np.minimum(places, len(grams) - 1)] == listed
    blocks = np.arange(len(listed)) // len(part)
    has = np.zeros((len(listed) // len(part) + 2, len(grams)), dtype=np.bool_)
    has[blocks[known], places[known]] = True
    return float((has[:-1] | has[1:]).mean(axis=1).max())


def _grams(text: str) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each gram, in order."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = max(0, len(codes) - GRAM + 1)
    mixed = np.zeros(count, dtype=np.uint64)
    for place in range(GRAM):
        mixed = (mixed + codes[place : place + count]) * _ODD
        mixed ^= mixed >> np.uint64(29)
    return mixed
