import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.radar import both_ways, symmetrise


@pytest.mark.parametrize(
    ("forward", "backward", "mean"),
    [
        (0.9, 0.4, 0.6),
        (0.81, 0.49, 0.63),
        (0.95, 0.1, 0.308221),
        (0.02, 0.3, 0.077460),
        (0.0, 1.0, 0.0),
        (1.0, 0.0, 0.0),
    ],
)
def test_g_a1_geometric_mean(forward: float, backward: float, mean: float):
    assert both_ways(np.array(forward), np.array(backward)) == pytest.approx(mean, abs=1e-6)


@given(st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_symmetric_in_range_with_zero_diagonal(n: int, seed: int):
    directed = np.random.default_rng(seed).random((n, n))
    directed.flags.writeable = False
    weights = symmetrise(directed)
    np.testing.assert_array_equal(weights, weights.T)
    assert not np.diagonal(weights).any()
    assert ((weights >= 0) & (weights <= 1)).all()
