"""Counts the independent voices of documents."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Least share of the spans of the shorter text in a copy. For texts of equal length it is the same
# as a Jaccard index of 0.6.
COPIED: Final = 0.75
NEARLY_THE_SAME: Final = 0.6  # least Jaccard index of near duplicates, also of short texts
ENOUGH_SPANS: Final = 12  # least number of common spans in a copy; names and phrases have fewer
SPAN: Final = 3  # words
MOST_WORDS: Final = 300  # of a text that are read, the first, because texts may be hostile
ENOUGH_CHARACTERS: Final = 4_000  # nearly always have that many words
MOST_STEPS: Final = 2_000  # of the search for independent documents
# Scripts without spaces between words (Thai to Tibetan, Burmese, Khmer, Japanese, Chinese): each
# character is a word.
_UNSPACED: Final = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def alike_in(
    owners: Sequence[Sequence[str]], texts: Sequence[str], unknown: str = "?"
) -> BoolArray:
    """Return which of n documents are one voice: (n, n), symmetric, true on the diagonal.

    Two are alike if they have an owner in common, or if one has most of the other's text. `owners`
    has for each document the owner of its site and those that it names as its sources; a document
    with the owner `unknown` is like every other. One text has another's if three quarters of the
    spans of three words of the shorter, and at least 12, are in both, or if the Jaccard index of
    their spans is at least 0.6. Two documents that are like a third need not be alike.

    >>> alike_in(["a", "ab", "b"], ["one", "two", "three"]).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    alike = _one_owner(owners, unknown)
    if not alike.all():
        alike |= _copied([spans_of(text) for text in texts])
    return alike


def _one_owner(owners: Sequence[Sequence[str]], unknown: str) -> BoolArray:
    """Return (n, n): the documents have an owner in common, or one of unknown owner."""
    alike = np.eye(len(owners), dtype=np.bool_)
    speaking: dict[str, list[int]] = defaultdict(list)
    for document, names in enumerate(owners):
        for name in names:
            speaking[name].append(document)
    for documents in speaking.values():
        alike[np.ix_(documents, documents)] = True
    anybody = speaking[unknown]
    alike[anybody] = alike[:, anybody] = True
    return alike


def _copied(spans: Sequence[frozenset[tuple[str, ...]]]) -> BoolArray:
    """Return (n, n): one text has most of the other's, by their spans."""
    counts = Counter(chain.from_iterable(spans))
    columns = {span: c for c, span in enumerate(s for s, held in counts.items() if held > 1)}
    has = np.zeros((len(spans), len(columns)))
    for row, held in zip(has, spans, strict=True):
        row[[columns[span] for span in held if span in columns]] = 1.0
    common = has @ has.T
    sizes = np.array([len(held) for held in spans])
    one, other = sizes[:, np.newaxis], sizes
    near = common >= NEARLY_THE_SAME * (one + other - common)
    holds = (common >= ENOUGH_SPANS) & (common >= COPIED * np.minimum(one, other))
    return np.asarray((common > 0.0) & (near | holds))


def most_independent(alike: BoolArray) -> int:
    """Return the size of the largest set without two vertices that are `alike`, (n, n), symmetric.

    A vertex that is like at most one other is in some largest set; if all are like two, so is any.
    Else the largest sets with and without the vertex that is like most others are compared. After
    `MOST_STEPS` such steps (fifty vertices take a third of them), the search takes the vertex that
    is like fewest others; the result is then at least 2 if two vertices are not alike.
    """
    packed = np.packbits(alike | np.eye(len(alike), dtype=np.bool_), axis=1, bitorder="little")
    near = [int.from_bytes(row.tobytes(), "little") for row in packed]
    return _Search(near, MOST_STEPS).largest((1 << len(alike)) - 1)


class _Search:
    """One search. Sets of vertices are bit masks; `near` has the vertices like each, and itself."""

    def __init__(self, near: Sequence[int], steps: int) -> None:
        self.near, self.steps = near, steps
        self.known: dict[int, int] = {}

    def largest(self, left: int) -> int:
        """Return the size of the largest set among the vertices `left`."""
        if left in self.known:
            return self.known[left]
        among, taken, best = left, 0, 0
        while left and taken + left.bit_count() > best:
            (few, fewest), (many, most) = self.extremes(left)
            if few > 2 and many > 3 and self.steps > 0:
                self.steps -= 1
                best = max(best, taken + 1 + self.largest(left & ~self.near[most]))
                left ^= 1 << most
            else:
                taken += 1
                left &= ~self.near[fewest]
        self.known[among] = max(best, taken)
        return self.known[among]

    def extremes(self, left: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return (number, vertex) for the vertices like fewest and like most of those `left`."""
        fewest, most, rest = (len(self.near) + 1, 0), (0, 0), left
        while rest and fewest[0] > 2:
            lowest = rest & -rest
            rest ^= lowest
            vertex = lowest.bit_length() - 1
            count = (self.near[vertex] & left).bit_count()
            if count < fewest[0]:
                fewest = count, vertex
            if count > most[0]:
                most = count, vertex
        return fewest, most


def spans_of(text: str) -> frozenset[tuple[str, ...]]:
    """Return the spans of three words at the start of a text; a shorter text is one span."""
    folded = text.casefold()
    words = _WORD.findall(folded, 0, ENOUGH_CHARACTERS)
    if len(words) <= MOST_WORDS and len(folded) > ENOUGH_CHARACTERS:  # the last may be cut off
        words = [word[0] for word in islice(_WORD.finditer(folded), MOST_WORDS)]
    words = words[:MOST_WORDS]
    if len(words) < SPAN:
        return frozenset({tuple(words)})
    return frozenset(zip(*(words[start:] for start in range(SPAN)), strict=False))
