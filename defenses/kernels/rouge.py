"""ROUGE-L: how much of two texts is the same words in the same order."""

import re
from collections.abc import Sequence

import numpy as np
import snowballstemmer
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

FloatArray = NDArray[np.float64]

_WORD = re.compile(r"[^\W_]+")
SHORTEST_STEMMED = 4  # letters, as in the reference implementation of ROUGE


def rouge_l(texts: Sequence[str]) -> FloatArray:
    """(n, n) F measures of the longest common subsequence of stemmed words, in [0, 1].

    The diagonal is 0, and so is a text without words. Lin (2004), "ROUGE: A Package for Automatic
    Evaluation of Summaries", with the Porter stemmer.

    >>> rouge_l(["the cat sat on the mat", "the dog sat on a mat"]).round(6).tolist()
    [[0.0, 0.666667], [0.666667, 0.0]]
    """
    words = stemmed_words(texts)
    common = cdist(words, words, scorer=LCSseq.similarity).astype(np.float64)
    lengths = np.array([len(w) for w in words], dtype=np.float64)
    scores = 2.0 * common / np.maximum(lengths[:, None] + lengths, 1.0)
    np.fill_diagonal(scores, 0.0)
    return np.asarray(scores)


def stemmed_words(texts: Sequence[str]) -> list[list[int]]:
    """The words of each text as numbers; words of one stem have the same number."""
    stemmer = snowballstemmer.stemmer("porter")  # keeps the word it works on: not for threads
    stems: dict[str, int] = {}
    numbers: dict[str, int] = {}
    for text in texts:
        for word in _WORD.findall(text.casefold()):
            if word not in numbers:
                stem = stemmer.stemWord(word) if len(word) >= SHORTEST_STEMMED else word
                numbers[word] = stems.setdefault(stem, len(stems))
    return [[numbers[word] for word in _WORD.findall(text.casefold())] for text in texts]
