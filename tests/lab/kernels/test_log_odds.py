"""Log-odds against the plain formula where it is exact, and where only logarithms are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.kernels.log_odds import LEAST, log_odds, total


@given(st.floats(1e-6, 1.0 - 1e-6))
def test_equals_the_plain_formula(p: float):
    assert log_odds(np.array([np.log(p)]))[0] == pytest.approx(np.log(p / (1.0 - p)), abs=1e-9)


def test_by_hand():
    logs = np.log([0.5, 0.9, 0.1])
    assert log_odds(logs) == pytest.approx([0.0, np.log(9.0), -np.log(9.0)])


@given(st.floats(-1e5, 0.0), st.floats(-1e5, 0.0))
def test_finite_and_rising(a: float, b: float):
    low, high = log_odds(np.array(sorted((a, b))))
    assert np.isfinite([low, high]).all()
    assert low <= high


def test_a_probability_that_underflows_keeps_its_logarithm():
    assert log_odds(np.array([-2_000.0]))[0] == -2_000.0


@pytest.mark.parametrize("missing", [1e-6, 1e-12, 1e-15])
def test_near_certainty_the_odds_keep_their_digits(missing: float):
    assert log_odds(np.array([-missing]))[0] == pytest.approx(-np.log(missing), abs=2 * missing)


def test_certainty_counts_as_the_double_below():
    certain, nearly = log_odds(np.array([0.0, -(2.0**-52)]))
    assert certain == pytest.approx(53 * np.log(2.0), abs=0.01)
    assert nearly < certain


def test_tokens_add_up_and_impossible_ones_are_bounded():
    rows = np.array([[-1.0, -2.5], [-np.inf, -1.0], [0.0, 1e-4]])
    assert total(rows).tolist() == [-3.5, LEAST - 1.0, 0.0]
