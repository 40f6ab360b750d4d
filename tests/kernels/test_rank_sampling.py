"""Weights and chances of being drawn, against the figures that follow from the formula."""

import math

import numpy as np
import pytest

from radarstream.defenses.kernels.reliability import rank_samples, rank_weights


def chance(k: int, rank: int, size: int = 2) -> float:
    """That a rank is in one round, drawn with replacement."""
    return 1.0 - (1.0 - rank_weights(k, 0.9)[rank - 1]) ** size


def test_weights():
    assert rank_weights(10, 0.9)[[0, 9]] == pytest.approx([0.153534, 0.059482], abs=1e-6)
    weights = rank_weights(50, 0.9)
    assert weights[[0, 24, 49]] == pytest.approx([0.100518, 0.008018, 0.000576], abs=1e-6)
    assert weights[:10].sum() == pytest.approx(0.654696, abs=1e-6)
    np.testing.assert_allclose(rank_weights(4, 0.0), [0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(rank_weights(4, 1.0), [0.25] * 4)
    np.testing.assert_allclose(rank_weights(1, 0.9), [1.0])


@pytest.mark.parametrize(
    ("k", "rank", "in_a_round"),
    [
        (50, 1, 0.190932),
        (50, 25, 0.015972),
        (50, 50, 0.001151),
        (10, 1, 0.283495),
        (10, 10, 0.115426),
    ],
)
def test_chance_of_a_poisoned_rank(k: int, rank: int, in_a_round: float):
    assert chance(k, rank) == pytest.approx(in_a_round, abs=1e-6)
    samples = rank_samples(
        np.random.default_rng(1), rank_weights(k, 0.9), rounds=20_000, size=2, replacement=True
    )
    share = np.mean([rank - 1 in sample for sample in samples])
    assert share == pytest.approx(in_a_round, abs=4 * math.sqrt(in_a_round / 20_000))


@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0, 1e-9])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("k", "size"), [(1, 2), (3, 5), (50, 4), (50, 45)])
def test_samples_are_ascending_sets(k: int, size: int, replacement: bool, gamma: float):
    weights = rank_weights(k, gamma)
    samples = rank_samples(
        np.random.default_rng(2), weights, rounds=30, size=size, replacement=replacement
    )
    assert len(samples) == 30
    for sample in samples:
        assert list(sample) == sorted(set(sample))
        assert set(sample) <= set(range(k))
        if not replacement:
            assert len(sample) == min(size, np.count_nonzero(weights))
