"""Lasso against scikit-learn and against the conditions of a minimum; log-odds by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from radarstream.lab.kernels.ablations import LEAST, lasso, log_odds, total


def masks(seed: int, m: int = 64, n: int = 5) -> np.ndarray:
    return (np.random.default_rng(seed).random((m, n)) < 0.5).astype(float)


def theirs(design: np.ndarray, outcomes: np.ndarray, alpha: float) -> np.ndarray:
    pipeline = make_pipeline(StandardScaler(), Lasso(alpha=alpha, tol=1e-12, max_iter=100_000))
    pipeline.fit(design, outcomes)
    return pipeline[1].coef_ / pipeline[0].scale_


@pytest.mark.parametrize("alpha", [0.01, 0.3, 2.0])
@pytest.mark.parametrize(("m", "n"), [(64, 1), (64, 5), (64, 50), (3, 8)])
def test_agrees_with_scikit_learn(m: int, n: int, alpha: float):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        design = masks(seed, m, n)
        outcomes = design @ rng.normal(size=n) + 0.1 * rng.normal(size=m)
        found, expected = lasso(design, outcomes, alpha), theirs(design, outcomes, alpha)
        assert loss(design, outcomes, alpha, found) <= (
            loss(design, outcomes, alpha, expected) + 1e-9
        )
        if n < m / 2:  # with more columns than rows several weightings can be as good
            assert found == pytest.approx(expected, abs=1e-6)


def loss(design: np.ndarray, outcomes: np.ndarray, alpha: float, weights: np.ndarray) -> float:
    rest = outcomes - design @ weights
    rest = rest - rest.mean()
    return rest @ rest / (2 * len(rest)) + alpha * np.abs(weights * design.std(axis=0)).sum()


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.001, 3.0), st.integers(1, 9), st.integers(2, 20))
def test_no_weight_could_be_better(seed: int, alpha: float, n: int, m: int):
    """The gradient equals the price where there is weight and does not exceed it elsewhere."""
    design = masks(seed, m, n)
    outcomes = np.random.default_rng(seed).normal(size=m)
    weights = lasso(design, outcomes, alpha)
    spread = design.std(axis=0)
    standard = (design - design.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    rest = outcomes - design @ weights
    gradient = standard.T @ (rest - rest.mean()) / m
    heavy = weights != 0.0
    assert gradient[heavy] == pytest.approx(alpha * np.sign(weights[heavy]), abs=1e-7)
    assert (np.abs(gradient[~heavy]) <= alpha + 1e-7).all()


def test_a_column_that_never_varies_gets_nothing():
    design = masks(3)
    design[:, 1] = 1.0
    design[:, 3] = 0.0
    weights = lasso(design, design @ np.arange(5.0), 0.01)
    assert weights[[1, 3]].tolist() == [0.0, 0.0]
    assert (weights[[2, 4]] > 1.0).all()


def test_of_copies_the_first_carries_the_weight():
    design = masks(4)
    design[:, 2] = design[:, 0]
    weights = lasso(design, 3.0 * design[:, 0], 0.01)
    assert weights[0] == pytest.approx(3.0, abs=0.1)
    assert weights[2] == pytest.approx(0.0, abs=1e-6)


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
