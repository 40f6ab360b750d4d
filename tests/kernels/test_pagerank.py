"""PageRank over what is alike beyond the question: worked example, properties, bad graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from radarstream.defenses.kernels.grada import beyond_affinity, pagerank

LIKENESS = np.array([[0, 1, 0.9, 0.8], [1, 0, 1.1, 0.9], [0.9, 1.1, 0, 0.85], [0.8, 0.9, 0.85, 0]])
AFFINITY = np.array([0.5, 0.4, 0.45, 1.2])
WEIGHTS = np.array(
    [[0, 0.64, 0.52, 0.12], [0.64, 0, 0.76, 0.26], [0.52, 0.76, 0, 0.19], [0.12, 0.26, 0.19, 0]]
)


def test_worked_examples():
    assert beyond_affinity(LIKENESS, AFFINITY, 0.4) == pytest.approx(WEIGHTS)
    # The fourth text, stuffed with the question, comes last.
    expected = [0.254321, 0.324022, 0.289002, 0.132655]
    assert pagerank(WEIGHTS, 0.85) == pytest.approx(expected, abs=1e-6)
    assert pagerank(np.zeros((3, 3)), 0.85).tolist() == [1 / 3] * 3
    assert pagerank(np.zeros((1, 1)), 0.85).tolist() == [1.0]
    assert pagerank(np.zeros((0, 0)), 0.85).tolist() == []
    one_way = np.array([[0.0, 2.0], [0.0, 0.0]])
    assert beyond_affinity(one_way, np.zeros(2), 0.4).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert pagerank(WEIGHTS * 1e308, 0.85) == pytest.approx(pagerank(WEIGHTS, 0.85))


def by_steps(weights: np.ndarray, damping: float) -> np.ndarray:
    """The walk itself, step by step."""
    count = len(weights)
    shares = np.full(count, 1.0 / count)
    for _ in range(2_000):
        moved = np.full(count, (1.0 - damping) / count)
        for place, share in enumerate(shares):
            total = weights[place].sum()
            to = weights[place] / total if total > 0 else np.full(count, 1.0 / count)
            moved += damping * share * to
        shares = moved
    return shares


def test_an_isolated_text_agrees_with_the_walk():
    weights = np.zeros((4, 4))
    weights[:3, :3] = WEIGHTS[:3, :3]
    assert pagerank(weights, 0.85) == pytest.approx(by_steps(weights, 0.85))


def graphs():
    def symmetric(rows: np.ndarray) -> np.ndarray:
        weights = np.maximum(rows + rows.T, 0.0)
        np.fill_diagonal(weights, 0.0)
        return weights

    sizes = st.integers(1, 7).map(lambda size: (size, size))
    return arrays(np.float64, sizes, elements=st.floats(-3, 3, width=16)).map(symmetric)


@given(graphs(), st.floats(0.0, 0.95))
def test_ranks_are_shares(weights, damping: float):
    ranks = pagerank(weights, damping)
    assert ranks.sum() == pytest.approx(1.0)
    assert (ranks >= (1.0 - damping) / len(weights) - 1e-9).all()


@given(graphs(), st.floats(0.01, 100.0))
def test_the_unit_of_weights_does_not_matter(weights, factor: float):
    assert pagerank(weights * factor, 0.85) == pytest.approx(pagerank(weights, 0.85))
