"""Which parts of one text occur in another."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

GRAM: Final = 4  # characters
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)  # mixes the characters of a gram into one number


def copied_runs(part: str, whole: str, ends: Sequence[int], least: int) -> list[tuple[int, int]]:
    """The stretches of `part` that are `least` or more words in a row of `whole`.

    `ends` says where the words of `whole` end, one after another without anything between them; how
    `part` is divided into words does not matter. Returns (start, end) in `part`, ascending and
    apart.
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
    """The same places as stretches that are apart, ascending."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def contained_share(part: str, whole: str) -> float:
    """The share of the distinct character 4-grams of `part` that a stretch of `whole` has.

    The stretch is one of twice the length of `part`; the grams of a long text as a whole would be
    those of its language. 0 where `part` is shorter than a gram.
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
    """One number per gram, in order; different grams differ but for an accident of 64 bits."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = max(0, len(codes) - GRAM + 1)
    mixed = np.zeros(count, dtype=np.uint64)
    for place in range(GRAM):
        mixed = (mixed + codes[place : place + count]) * _ODD
        mixed ^= mixed >> np.uint64(29)
    return mixed
