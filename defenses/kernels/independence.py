"""How many independent voices some documents have."""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Above one half: no page is nearly the same as two that share no words. Two that share about half
# of theirs can be joined by a third.
NEARLY_THE_SAME: Final = 0.6
SPAN: Final = 3  # words that are compared together
MOST_WORDS: Final = 300  # of a text, the first: texts may be hostile
_WORD: Final = re.compile(r"\w+")


def independent_groups(sites: Sequence[str], texts: Sequence[str]) -> NDArray[np.int_]:
    """The group of each document, (n,); documents of different groups are independent.

    Two documents are in one group if they are of one site, or if their texts are nearly the same
    (Jaccard index of spans of three words, at least 0.6), or if a chain of such documents joins
    them. An empty site is nobody's: it joins nothing. A group has the number of its first document.

    >>> independent_groups(["a", "b", "a", ""], ["one", "two", "three", "four"]).tolist()
    [0, 1, 0, 3]
    """
    group = list(range(len(sites)))

    def first_of(document: int) -> int:
        while group[document] != document:
            document = group[document]
        return document

    def join(one: int, other: int) -> None:
        low, high = sorted((first_of(one), first_of(other)))
        group[high] = low

    seen: dict[str, int] = {}
    for document, site in enumerate(sites):
        if site:
            join(seen.setdefault(site, document), document)
    spans = [spans_of(text) for text in texts]
    for one, other in combinations(range(len(texts)), 2):
        if nearly_the_same(spans[one], spans[other]):
            join(one, other)
    return np.array([first_of(document) for document in range(len(sites))], dtype=np.intp)


def spans_of(text: str) -> frozenset[tuple[str, ...]]:
    """The spans of three words at the start of a text; of a shorter text, the whole of it."""
    words = [word[0] for word in islice(_WORD.finditer(text.casefold()), MOST_WORDS)]
    if len(words) < SPAN:
        return frozenset({tuple(words)} if words else ())
    return frozenset(zip(*(words[start:] for start in range(SPAN)), strict=False))


def nearly_the_same(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    """Whether two sets of spans overlap so much that one text is a copy of the other."""
    shorter, longer = sorted((len(one), len(other)))
    if not shorter or shorter < NEARLY_THE_SAME * longer:
        return False
    common = len(one & other)
    return common >= NEARLY_THE_SAME * (shorter + longer - common)


def voices(values: FloatArray, groups: NDArray[np.int_]) -> float:
    """The weight of documents by group: the best of each counts in full, its second half, its third
    a third. `values` (n,) are >= 0.

    More pages of one site add ever less. Another page never takes weight away, unless it joins two
    groups.

    >>> voices(np.array([1.0, 1.0, 0.8]), np.array([0, 0, 2]))
    2.3
    """
    members: dict[int, list[float]] = defaultdict(list)
    for value, group in zip(values.tolist(), groups.tolist(), strict=True):
        members[group].append(value)
    return sum(
        value / place
        for of_group in members.values()
        for place, value in enumerate(sorted(of_group, reverse=True), start=1)
    )
