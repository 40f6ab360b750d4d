"""Okapi BM25 of every query with every document, the statistics taken from the documents."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

K1: Final = 1.5  # how soon a word counts no more by being repeated
B: Final = 0.75  # how much a document pays for its length
MOST_WORDS: Final = 20_000  # of a text: those behind are not read


def bm25(queries: Sequence[Sequence[str]], documents: Sequence[Sequence[str]]) -> FloatArray:
    """(m, n) scores >= 0 of m queries with n documents, each a list of words.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
    inverse document frequencies log(1 + (n - df + .5) / (df + .5)), which are never negative. A
    word that a query repeats counts as often; one that no document has counts nothing.
    """
    lengths = np.array([len(document[:MOST_WORDS]) for document in documents], dtype=float)
    scores = np.zeros((len(queries), len(documents)))
    if not lengths.any():
        return scores
    damping = K1 * (1.0 - B + B * lengths / lengths.mean())
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)  # of a word in documents
    for place, document in enumerate(documents):
        for word, count in Counter(document[:MOST_WORDS]).items():
            counts[word][place] = count
    weights = {}
    for word, held in counts.items():
        at, times = np.array([*held]), np.array([*held.values()], dtype=float)
        rarity = np.log1p((len(documents) - len(held) + 0.5) / (len(held) + 0.5))
        weights[word] = at, rarity * times * (K1 + 1.0) / (times + damping[at])
    for row, query in enumerate(queries):
        for word, repeated in Counter(query[:MOST_WORDS]).items():
            if word in weights:
                places, weight = weights[word]
                scores[row, places] += repeated * weight
    return scores
