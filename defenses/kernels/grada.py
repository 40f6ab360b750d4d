"""Kernels of GRADA: Okapi BM25 of queries with documents, and PageRank of their similarity."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

K1: Final = 1.5  # saturation: how much further occurrences of a word count
B: Final = 0.75  # how far scores are divided by the length of a document
MOST_WORDS: Final = 20_000  # of a text that are read, the first


def bm25(queries: Sequence[Sequence[str]], documents: Sequence[Sequence[str]]) -> FloatArray:
    """Return (m, n) scores >= 0 of m queries with n documents, each a list of words.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
    inverse document frequencies log(1 + (n - df + .5) / (df + .5)), which are never negative. A
    repeated word of a query counts each time.
    """
    lengths = np.array([len(document[:MOST_WORDS]) for document in documents], dtype=float)
    scores = np.zeros((len(queries), len(documents)))
    if not lengths.any():
        return scores
    damping = K1 * (1.0 - B + B * lengths / lengths.mean())
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)  # by word, then by document
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


def beyond_affinity(similarities: FloatArray, affinities: FloatArray, alpha: float) -> FloatArray:
    """Return (n, n) weights >= 0: the similarity of two texts beyond that to the question.

    They are the mean of both directions of (n, n) `similarities`, less `alpha` times the sum of
    both texts' (n,) `affinities` to the question; 0 if negative and on the diagonal.
    """
    weights = 0.5 * (similarities + similarities.T)
    weights = weights - alpha * (affinities[:, None] + affinities[None, :])
    np.fill_diagonal(weights, 0.0)
    return np.asarray(np.maximum(weights, 0.0))


def pagerank(weights: FloatArray, damping: float) -> FloatArray:
    """Return the (n,) PageRank of an undirected graph of (n, n) weights >= 0; it sums to 1.

    Page et al., "The PageRank Citation Ranking" (1999), by solving the linear equations. A node
    without neighbours leads to every node alike; without edges, all ranks are equal.
    """
    count = len(weights)
    if not weights.any():
        return np.full(count, 1.0 / max(count, 1))
    scaled = weights / weights.max()  # so that no sum overflows
    totals = scaled.sum(axis=1, keepdims=True)
    steps = np.where(totals > 0.0, scaled / np.where(totals > 0.0, totals, 1.0), 1.0 / count)
    found = np.linalg.solve(
        np.eye(count) - damping * steps.T, np.full(count, (1.0 - damping) / count)
    )
    return np.asarray(found / found.sum())
