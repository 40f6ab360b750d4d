"""Variance of percentages: the published figures, and who is removed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.kernels.attention_shares import most_attended, variance_of_shares

CODE, PAPER = 26.2, 50.0  # thresholds


@pytest.mark.parametrize(
    ("shares", "variance"),
    [
        ([20.0] * 5, 0.0),
        ([60, 10, 10, 10, 10], 400.0),
        ([28, *[8] * 9], 36.0),
        ([40, 20, 15, 15, 10], 110.0),
        ([55, 25, 10, 10], 337.5),
        ([100], 0.0),
        ([0, 0, 0], 0.0),
        ([], 0.0),
    ],
)
def test_golden_variances(shares: list[float], variance: float):
    assert variance_of_shares(np.array(shares, np.float64)) == pytest.approx(variance)


@pytest.mark.parametrize(
    ("count", "code", "paper"), [(5, 30.24, 34.14), (10, 25.36, 31.21), (15, 25.82, 33.12)]
)
def test_the_share_that_is_too_much_where_others_are_equal(count: int, code: float, paper: float):
    for threshold, share in ((CODE, code), (PAPER, paper)):
        for above in (-0.01, 0.01):
            rest = (100.0 - share - above) / (count - 1)
            shares = np.array([share + above, *[rest] * (count - 1)])
            assert (most_attended(shares, threshold) == 0) == (above > 0.0)


def test_the_threshold_itself_is_not_too_much():
    assert most_attended(np.array([60.0, 10, 10, 10, 10]), 400.0) is None


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20), st.floats(0.0, 100.0))
def test_who_goes_has_the_most(weights: list[float], threshold: float):
    total = sum(weights) or 1.0
    shares = np.array([100.0 * weight / total for weight in weights])
    place = most_attended(shares, threshold)
    assert (place is None) == (shares.var() <= threshold)
    if place is not None:
        assert shares[place] == shares.max()
        assert (shares[place + 1 :] < shares[place]).all()
