"""BM25 of all pairs against its formula, word by word; texts without words."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.grada import K1, MOST_WORDS, B, bm25

DOCUMENTS = [["rome", "won", "the", "cup"], ["the", "the", "cup"], ["oslo"], []]


def by_formula(query: list[str], document: list[str], documents: list[list[str]]) -> float:
    mean = sum(map(len, documents)) / len(documents)
    score = 0.0
    for word in query:
        found = sum(word in other for other in documents)
        times = document.count(word)
        rarity = log(1 + (len(documents) - found + 0.5) / (found + 0.5))
        score += rarity * times * (K1 + 1) / (times + K1 * (1 - B + B * len(document) / mean))
    return score


def test_worked_example_and_texts_without_words():
    # The word oslo is in one of four documents, which has 1 word where the mean is 2:
    # log(1 + 3.5 / 1.5) times 2.5 / (1 + 1.5 * (.25 + .375)).
    assert bm25([["oslo"]], DOCUMENTS)[0] == pytest.approx([0, 0, 1.553513, 0], abs=1e-6)
    assert bm25([["a"], []], [[], []]).tolist() == [[0.0, 0.0]] * 2
    assert bm25([["a"]], []).shape == (1, 0)
    assert bm25([["end"]], [["word"] * MOST_WORDS + ["end"]]).tolist() == [[0.0]]


words = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(st.lists(words, max_size=4), st.lists(words, min_size=1, max_size=5))
def test_agrees_with_the_formula(queries: list[list[str]], documents: list[list[str]]):
    found = bm25(queries, documents)
    assert found.shape == (len(queries), len(documents))
    assert (found >= 0.0).all()
    if any(documents):
        expected = [[by_formula(q, d, documents) for d in documents] for q in queries]
        assert found == pytest.approx(np.array(expected).reshape(found.shape))
