"""ROUGE-L: how far two texts have the same words in the same order."""

import re
from collections.abc import Sequence
from itertools import islice

import numpy as np
import snowballstemmer
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

FloatArray = NDArray[np.float64]

_WORD = re.compile(r"[^\W_]+")
SHORTEST_STEMMED = 4  # letters, as in the reference implementation of ROUGE
MOST_WORDS = 1_000  # of a text that are read; the time is quadratic, and texts may be hostile


def rouge_l(texts: Sequence[str]) -> FloatArray:
    """Return (n, n) F measures of the longest common subsequence of stemmed words, in [0, 1].

    They are 0 on the diagonal and for texts without words. Only the first 1,000 words count. Lin
    (2004), "ROUGE: A Package for Automatic Evaluation of Summaries", with the Porter stemmer.

    >>> rouge_l(["the cat sat on the mat", "the dog sat on a mat"]).round(6).tolist()
    [[0.0, 0.666667], [0.666667, 0.0]]
    """
    words = stemmed_words(texts)
    common = cdist(words, words, scorer=LCSseq.similarity).astype(np.float64)
    lengths = np.array([len(w) for w in words], dtype=np.float64)
    scores = 2.0 * common / np.maximum(lengths[:, None] + lengths, 1.0)
    np.fill_diagonal(scores, 0.0)
    return np.asarray(scores)


def stemmed_words(texts: Sequence[str]) -> list[str]:
    """Write each text as a string with one character per stem, which the library compares fast."""
    stemmer = snowballstemmer.stemmer("porter")  # has state, so threads must not share it
    letters: dict[str, str] = {}
    letter_of: dict[str, str] = {}
    spelled = []
    for text in texts:
        words = [word[0] for word in islice(_WORD.finditer(text.casefold()), MOST_WORDS)]
        for word in words:
            if word not in letter_of:
                stem = stemmer.stemWord(word) if len(word) >= SHORTEST_STEMMED else word
                letter_of[word] = letters.setdefault(stem, chr(len(letters)))
        spelled.append("".join([letter_of[word] for word in words]))
    return spelled
