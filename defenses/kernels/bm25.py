"""Okapi BM25 of every query with every document, the statistics taken from the documents."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy  # loads its parts when they are used
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
    words = sorted({word for document in documents for word in document[:MOST_WORDS]})
    columns = {word: column for column, word in enumerate(words)}
    if not words or not queries:
        return np.zeros((len(queries), len(documents)))
    asked, counts = word_counts(queries, columns), word_counts(documents, columns)
    lengths = np.asarray(counts.sum(axis=1))
    found_in = np.bincount(counts.indices, minlength=len(words))
    rarity = np.log1p((len(documents) - found_in + 0.5) / (found_in + 0.5))
    rows = np.repeat(np.arange(len(documents)), np.diff(counts.indptr))
    damping = K1 * (1.0 - B + B * lengths / lengths.mean())
    weights = rarity[counts.indices] * counts.data * (K1 + 1.0) / (counts.data + damping[rows])
    weighted = scipy.sparse.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)
    return np.asarray((asked @ weighted.T).toarray())


def word_counts(
    texts: Sequence[Sequence[str]], columns: dict[str, int]
) -> "scipy.sparse.csr_array":
    """(m, v) how often each text has each word that has a column, columns in order."""
    rows, places = [], []
    for row, text in enumerate(texts):
        known = [columns[word] for word in text[:MOST_WORDS] if word in columns]
        rows += [row] * len(known)
        places += known
    ones = np.ones(len(places))
    counts = scipy.sparse.csr_array((ones, (rows, places)), shape=(len(texts), len(columns)))
    counts.sum_duplicates()
    return counts
