"""How many independent voices some documents have."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Of the spans of the shorter of two texts. A page with three quarters of the spans of another, and
# as long, shares six tenths of all that the two have: the Jaccard index of near duplicates.
COPIED: Final = 0.75
NEARLY_THE_SAME: Final = 0.6  # the Jaccard index of texts too short to tell what is copied
ENOUGH_SPANS: Final = 12  # in common that tell a copy: names and phrases are shorter
SPAN: Final = 3  # words that are compared together
MOST_WORDS: Final = 300  # of a text, the first: texts may be hostile
ENOUGH_CHARACTERS: Final = 4_000  # nearly always hold as many words
MOST_STEPS: Final = 2_000  # of the search for independent documents
# Of scripts that put no spaces between words (Thai to Tibetan, Burmese, Khmer, Japanese, Chinese)
# each character is a word.
_UNSPACED: Final = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def alike_in(owners: Sequence[Sequence[str]], texts: Sequence[str], untold: str = "?") -> BoolArray:
    """Which of n documents are one voice: (n, n), symmetric, true on the diagonal.

    Two are alike if one owner speaks in both, or if one holds most of the other's text. `owners`
    are those who speak in each: of its site, and those that it names as its sources; a document
    `untold` is like every other. One text holds another's if three quarters of the spans of three
    words of the shorter, and at least 12, are in both, or if the Jaccard index of their spans is
    at least 0.6. Two documents that are like a third need not be alike.

    >>> alike_in(["a", "ab", "b"], ["one", "two", "three"]).astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    alike = _one_owner(owners, untold)
    if not alike.all():
        alike |= _copied([spans_of(text) for text in texts])
    return alike


def _one_owner(owners: Sequence[Sequence[str]], untold: str) -> BoolArray:
    """(n, n), true on the diagonal: the same owner speaks in both, or nobody can tell who."""
    alike = np.eye(len(owners), dtype=np.bool_)
    speaking: dict[str, list[int]] = defaultdict(list)
    for document, names in enumerate(owners):
        for name in names:
            speaking[name].append(document)
    for documents in speaking.values():
        alike[np.ix_(documents, documents)] = True
    anybody = speaking[untold]
    alike[anybody] = alike[:, anybody] = True
    return alike


def _copied(spans: Sequence[frozenset[tuple[str, ...]]]) -> BoolArray:
    """(n, n): which texts, by their spans, hold most of one another."""
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
    """The size of the largest set of vertices no two of which are `alike`, (n, n) and symmetric.

    A vertex that is like one other at most is in such a set, and where all are like two, any is.
    Else the set with the vertex that is like most others is compared with the one without it. After
    `MOST_STEPS` such steps (fifty vertices take a third of these), the vertex that is like fewest
    is taken: at least two are if two are not alike.
    """
    packed = np.packbits(alike | np.eye(len(alike), dtype=np.bool_), axis=1, bitorder="little")
    near = [int.from_bytes(row.tobytes(), "little") for row in packed]
    return _Search(near, MOST_STEPS).largest((1 << len(alike)) - 1)


class _Search:
    """Sets of vertices are bit masks; `near` has what each vertex is like, itself included."""

    def __init__(self, near: Sequence[int], steps: int) -> None:
        self.near, self.steps = near, steps
        self.known: dict[int, int] = {}

    def largest(self, left: int) -> int:
        """The size of the largest set among the vertices `left`."""
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
        """The vertices that are like fewest and most of those `left`, each behind their number."""
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
    """The spans of three words at the start of a text; of a shorter text, the whole of it."""
    folded = text.casefold()
    words = _WORD.findall(folded, 0, ENOUGH_CHARACTERS)
    if len(words) <= MOST_WORDS and len(folded) > ENOUGH_CHARACTERS:  # the last may be cut off
        words = [word[0] for word in islice(_WORD.finditer(folded), MOST_WORDS)]
    words = words[:MOST_WORDS]
    if len(words) < SPAN:
        return frozenset({tuple(words)})
    return frozenset(zip(*(words[start:] for start in range(SPAN)), strict=False))
