"""Arithmetic of RADAR: relations, centralities, beliefs."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.radar import (
    bayes,
    both_ways,
    eigenvector_centrality,
    rescaled,
    symmetrise,
)


def test_g_a1_geometric_mean():
    for forward, backward, mean in [
        (0.9, 0.4, 0.6), (0.81, 0.49, 0.63), (0.95, 0.1, 0.308221), (0.02, 0.3, 0.077460),
        (0.0, 1.0, 0.0), (1.0, 0.0, 0.0),
    ]:  # fmt: skip
        assert both_ways(np.array(forward), np.array(backward)) == pytest.approx(mean, abs=1e-6)


@given(st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_symmetric_in_range_with_zero_diagonal(n: int, seed: int):
    directed = np.random.default_rng(seed).random((n, n))
    directed.flags.writeable = False
    weights = symmetrise(directed)
    np.testing.assert_array_equal(weights, weights.T)
    assert not np.diagonal(weights).any()
    assert ((weights >= 0) & (weights <= 1)).all()


def star(loop: float = 0.0) -> np.ndarray:
    weights = np.zeros((3, 3))
    weights[0, 1:] = weights[1:, 0] = 0.9
    return weights + loop * np.eye(3)


def uniform(n: int, weight: float) -> np.ndarray:
    return weight * (np.ones((n, n)) - np.eye(n))


def blocks(*sizes: int) -> np.ndarray:
    camp = np.repeat(np.arange(len(sizes)), sizes)
    return 0.9 * ((camp[:, None] == camp) & ~np.eye(len(camp), dtype=bool))


def test_worked_centralities():
    weights = np.array([[0, 0.8, 0.1], [0.8, 0, 0.05], [0.1, 0.05, 0]])
    raw = eigenvector_centrality(weights)
    assert raw == pytest.approx([0.690561, 0.711473, 0.130120], abs=1e-6)
    assert rescaled(raw) == pytest.approx([0.964028, 1.0, 0.0], abs=1e-6)
    weights = np.array(
        [[0, 0.98, 0.97, 0.96], [0.98, 0, 0.97, 0.97], [0.97, 0.97, 0, 0.98], [0.96, 0.97, 0.98, 0]]
    )
    raw = eigenvector_centrality(weights)
    assert raw == pytest.approx([0.499359, 0.500641, 0.500641, 0.499359], abs=1e-6)
    assert rescaled(raw) == pytest.approx([0, 0.999992, 0.999992, 0], abs=1e-6)
    raw = eigenvector_centrality(blocks(3, 2))
    assert raw == pytest.approx([0.57735] * 3 + [0.000596] * 2, abs=1e-5)
    assert rescaled(raw) == pytest.approx([1, 1, 1, 0, 0], abs=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 4, 50])
@pytest.mark.parametrize("weight", [0.0, 0.05, 0.8, 1.0])
def test_equal_documents_are_all_central(n: int, weight: float):
    """Eq. 36 read literally gives 0 to every one of them."""
    raw = eigenvector_centrality(uniform(n, weight))
    assert raw == pytest.approx([max(n, 1) ** -0.5] * n, abs=1e-5)
    assert rescaled(raw).tolist() == [1.0] * n
    assert rescaled(raw + 9e-7 * (np.arange(n) == 1)).tolist() == [1.0] * n  # means nothing


@pytest.mark.parametrize(
    ("iterations", "hub"), [(9, 0.803563), (10, 0.597044), (11, 0.800870), (200, 0.701851)]
)
def test_ten_steps_do_not_converge_on_a_star_but_rank_it_right(iterations: int, hub: float):
    raw = eigenvector_centrality(star(), iterations=iterations)
    assert raw[0] == pytest.approx(hub, abs=1e-6)
    assert rescaled(raw) == pytest.approx([1, 0, 0], abs=1e-6)


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_in_range_finite_and_equivariant(n: int, seed: int):
    rng = np.random.default_rng(seed)
    weights = rng.random((n, n))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    central = rescaled(eigenvector_centrality(weights))
    assert np.isfinite(central).all()
    assert central.min() >= 0.0
    assert central.max() <= 1.0
    order = rng.permutation(n)
    permuted = rescaled(eigenvector_centrality(weights[np.ix_(order, order)]))
    assert permuted == pytest.approx(central[order], abs=1e-6)


probabilities = st.floats(0.0, 1.0)


def test_g_a11():
    for prior, likelihood, posterior in [
        (0.8, 0.7, 0.903226), (0.2, 0.3, 0.096774), (0.9, 0.1, 0.5), (0.5, 0.37, 0.37),
        (0.37, 0.5, 0.37), (0.3, 0.4, 0.222222), (0.6, 0.9, 0.931034), (0.0, 1.0, 0.5),
        (1.0, 0.0, 0.5), (0.0, 0.7, 2.333e-6), (1.0, 0.3, 0.999998),
    ]:  # fmt: skip
        assert bayes(prior, likelihood) == pytest.approx(posterior, abs=1e-6)
    assert bayes(0.0, 0.7) == pytest.approx(2.333e-6, abs=5e-10)


@given(probabilities, probabilities)
def test_log_odds_add(prior: float, likelihood: float):
    posterior = bayes(prior, likelihood)
    assert posterior == pytest.approx(bayes(likelihood, prior), abs=1e-12)
    assert 0.0 < posterior < 1.0
    if all(1e-5 <= p <= 1 - 1e-5 for p in (prior, likelihood)):
        total = sum(log(p) - log(1 - p) for p in (prior, likelihood))
        assert log(posterior) - log(1 - posterior) == pytest.approx(total, abs=1e-4)
