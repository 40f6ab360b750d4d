"""How many independent voices some documents have."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.reliability import independent_set

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int_]

# Above one half: no page is nearly the same as two that share no words.
NEARLY_THE_SAME: Final = 0.6
SPAN: Final = 3  # words that are compared together
MOST_WORDS: Final = 300  # of a text, the first: texts may be hostile
ENOUGH_CHARACTERS: Final = 4_000  # nearly always hold as many words
MOST_STEPS: Final = 10_000  # of the search for independent documents
_WORD: Final = re.compile(r"\w+")


class Voices(NamedTuple):
    """Whose voices n documents are.

    Two documents are alike if they are of one site, or if their texts are nearly the same.
    `groups` (n,) divides the documents into groups in which all are alike; a group has the number
    of its first document. `independent` is the size of the largest set of documents no two of which
    are alike: another document never makes it smaller.
    """

    groups: IntArray
    independent: int


def voices_of(sites: Sequence[str], texts: Sequence[str]) -> Voices:
    """Whose voices documents are, by their sites and texts.

    Texts are nearly the same if the Jaccard index of their spans of three words is at least 0.6. An
    empty site is nobody's: it makes no two documents alike. Two documents that are like a third
    need not be alike. Neither the order of documents nor the names of sites matter.

    >>> voices_of(["a", "b", "a", ""], ["one", "two", "three", "four"])
    Voices(groups=array([0, 1, 0, 3]), independent=3)
    """
    order = _by_content(sites, texts)
    alike = _alike([sites[d] for d in order], [texts[d] for d in order])
    cliques: list[int] = []  # each a set of places, as a bit mask
    for place, near in enumerate(_masks(alike)):
        fitting = (number for number, held in enumerate(cliques) if held & near == held)
        number = next(fitting, None)
        if number is None:
            cliques.append(1 << place)
        else:
            cliques[number] |= 1 << place
    groups = np.empty(len(order), dtype=np.intp)
    for clique in cliques:
        members = [order[place] for place in _places(clique)]
        groups[members] = min(members)
    return Voices(groups, most_independent(alike))


def _by_content(sites: Sequence[str], texts: Sequence[str]) -> list[int]:
    """The documents in an order to which neither their ranks nor the names of sites matter.

    Site by site, each with its texts sorted; sites with the same texts can be exchanged.
    """
    of_site: dict[str | int, list[int]] = defaultdict(list)
    for document, site in enumerate(sites):
        of_site[site or document].append(document)
    held = [sorted(documents, key=lambda d: texts[d]) for documents in of_site.values()]
    held.sort(key=lambda documents: [texts[d] for d in documents])
    return [document for documents in held for document in documents]


def _alike(sites: Sequence[str], texts: Sequence[str]) -> BoolArray:
    """(n, n), true on the diagonal: of one site, or with texts that are nearly the same."""
    numbers: dict[str | int, int] = {}
    owners = [site or document for document, site in enumerate(sites)]
    owner = np.array([numbers.setdefault(each, len(numbers)) for each in owners])
    same = np.asarray(owner[:, np.newaxis] == owner)
    if len(numbers) < 2:  # whatever they say
        return same
    spans = [spans_of(text) for text in texts]
    counts = Counter(chain.from_iterable(spans))
    columns = {span: c for c, span in enumerate(s for s, held in counts.items() if held > 1)}
    has = np.zeros((len(spans), len(columns)))
    for row, held in zip(has, spans, strict=True):
        row[[columns[span] for span in held if span in columns]] = 1.0
    common = has @ has.T
    sizes = np.array([len(held) for held in spans])
    together = sizes[:, np.newaxis] + sizes - common
    copied = (common > 0.0) & (common >= NEARLY_THE_SAME * together)
    return np.asarray(copied | same)


def most_independent(alike: BoolArray) -> int:
    """The size of the largest set of vertices no two of which are `alike`, (n, n) and symmetric.

    A vertex that is like all that another is like, and more, is never needed. What remains is
    searched part by part. Should that take more than `MOST_STEPS`, the largest set found counts: at
    least two vertices if two are not alike.
    """
    near = _masks(alike | np.eye(len(alike), dtype=np.bool_))
    needed = _undominated(near)
    vertices, count = needed.bit_count(), 0
    for part in _parts(near, needed):
        if len(part) < 3:  # one vertex, or two that are alike
            count += 1
            continue
        edges = alike[np.ix_(part, part)]
        by_degree = np.argsort(edges.sum(axis=1), kind="stable")  # few rivals first
        steps = MOST_STEPS * len(part) // vertices
        chosen = independent_set(edges[np.ix_(by_degree, by_degree)], most_steps=steps)
        count += int(chosen.sum())
    return count


def _undominated(near: Sequence[int]) -> int:
    """The vertices without those that another makes superfluous.

    Sets of vertices are bit masks; `near` has what each vertex is like, itself included.
    """
    left = (1 << len(near)) - 1
    while True:
        superfluous = 0
        for vertex in _places(left):
            own = near[vertex] & left
            for other in _places(own & ~(1 << vertex)):
                its = near[other] & left
                if its & own == its and (its != own or other < vertex):
                    superfluous |= 1 << vertex
                    break
        if not superfluous:
            return left
        left ^= superfluous


def _parts(near: Sequence[int], left: int) -> list[list[int]]:
    """The connected components among the vertices `left`, each ascending."""
    parts: list[list[int]] = []
    while left:
        part = fresh = left & -left
        while fresh:
            reached = 0
            for vertex in _places(fresh):
                reached |= near[vertex]
            fresh = reached & left & ~part
            part |= fresh
        left &= ~part
        parts.append(_places(part))
    return parts


def _masks(matrix: BoolArray) -> list[int]:
    """Each row as a set of columns: a bit mask."""
    packed = np.packbits(matrix, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _places(mask: int) -> list[int]:
    """What a bit mask holds, ascending."""
    places = []
    while mask:
        lowest = mask & -mask
        places.append(lowest.bit_length() - 1)
        mask ^= lowest
    return places


def spans_of(text: str) -> frozenset[tuple[str, ...]]:
    """The spans of three words at the start of a text; of a shorter text, the whole of it."""
    folded = text.casefold()
    words = _WORD.findall(folded, 0, ENOUGH_CHARACTERS)
    if len(words) <= MOST_WORDS and len(folded) > ENOUGH_CHARACTERS:  # the last may be cut off
        words = [word[0] for word in islice(_WORD.finditer(folded), MOST_WORDS)]
    words = words[:MOST_WORDS]
    if len(words) < SPAN:
        return frozenset({tuple(words)} if words else ())
    return frozenset(zip(*(words[start:] for start in range(SPAN)), strict=False))


def voices(values: FloatArray, groups: NDArray[np.int_]) -> float:
    """The weight of documents by group: the best of each counts in full, its second half, its third
    a third. `values` (n,) are >= 0.

    More pages of one group add ever less. If those of each group are alike, the total is at least
    the values of any documents no two of which are alike, since no two of these share a group.

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
