"""What GRADA computes: Okapi BM25 of queries with documents, and PageRank of their likeness."""

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


def beyond_affinity(similarities: FloatArray, affinities: FloatArray, alpha: float) -> FloatArray:
    """(n, n) weights: how alike two texts are beyond what both owe to the question.

    From (n, n) similarities, of which both directions count half, and (n,) affinities to the
    question, of which `alpha` is taken off for either text; never negative, 0 on the diagonal.
    """
    weights = 0.5 * (similarities + similarities.T)
    weights = weights - alpha * (affinities[:, None] + affinities[None, :])
    np.fill_diagonal(weights, 0.0)
    return np.asarray(np.maximum(weights, 0.0))


def pagerank(weights: FloatArray, damping: float) -> FloatArray:
    """(n,) PageRank of an undirected graph of (n, n) weights >= 0; the sum is 1, for n > 0.

    Page et al., "The PageRank Citation Ranking" (1999). The linear equations are solved, so that
    there is nothing to converge. From a text without neighbours the walk goes on anywhere; a graph
    without edges ranks all alike.
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
