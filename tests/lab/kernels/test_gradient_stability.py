"""Penalties of unsteady gradients: worked examples, properties, and gradients that fail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from radarstream.lab.kernels.gradient_stability import (
    consistency_penalty,
    dispersion_penalty,
    gate,
    gate_centre,
    saturated,
    stability,
)

EPS = 1e-8
PAPER = {"tau": 0.1, "alpha": 4.0, "ceiling": 6.0, "eps": EPS}
EQUAL = [(1, 0)] * 4
ON_OFF = [(1, 0)] * 3 + [(0, 1)]
MILD = [(1, 0.1), (1, -0.1)] * 2
CANCELLING = [(1, 0), (-1, 0)]
DEAD = [(0, 0)] * 4
SIMILARITIES = np.array([0.82, 0.75, 0.70, 0.64, 0.55, 0.51, 0.48, 0.40, 0.33])


def gram(gradients) -> np.ndarray:
    rows = np.asarray(gradients, dtype=float)
    return (rows @ rows.T)[None]


def penalties(grams: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = stability(grams, EPS)
    return consistency_penalty(found.consistency, EPS), dispersion_penalty(
        found.deviations, **PAPER
    )


@pytest.mark.parametrize(
    ("gradients", "consistency", "deviations"),
    [
        (EQUAL, 1.0, [0.0] * 4),
        (ON_OFF, 0.790569, [0.447214] * 3 + [1.341641]),
        (MILD, 0.995037, [0.1] * 4),
        (DEAD, 0.0, [0.0] * 4),
    ],
)
def test_golden_stability(gradients, consistency: float, deviations: list[float]):
    found = stability(gram(gradients), EPS)
    assert found.consistency == pytest.approx([consistency], abs=1e-6)
    assert found.deviations[0] == pytest.approx(deviations, abs=1e-6)


@pytest.mark.parametrize(
    ("gradients", "of_consistency", "of_dispersion"),
    [
        (EQUAL, 0.0, 0.0),
        (ON_OFF, 0.235002, 5.408360),
        (MILD, 0.004975, 0.542751),
        (CANCELLING, 18.420681, 6.0),
        (DEAD, 18.420681, 0.0),
    ],
)
def test_golden_penalties(gradients, of_consistency: float, of_dispersion: float):
    (first,), (second,) = penalties(gram(gradients))
    assert (first, second) == pytest.approx((of_consistency, of_dispersion), abs=1e-6)
    assert min(first, second) >= 0.0


def test_golden_quantile():
    """Between the runs .004670 and .167152 the quantile is .053415, whose penalty is 54.847791."""
    deviations = stability(gram(ON_OFF), EPS).deviations
    low = np.quantile(np.exp(-4.0 * deviations[0]), 0.1)
    assert low == pytest.approx(0.053415, abs=1e-6)
    assert -np.log(low + EPS) / low == pytest.approx(54.847791, abs=1e-6)
    assert saturated(np.array([54.847791]), 6.0, EPS) == pytest.approx([5.408360], abs=1e-6)


@pytest.mark.parametrize(
    ("score", "penalty"),
    [
        (0.99, 0.010135),
        (0.9, 0.114827),
        (0.5, 1.126108),
        (0.2, 3.437210),
        (0.1, 4.759726),
        (0.05, 5.453839),
    ],
)
def test_golden_penalty_of_a_score(score: float, penalty: float):
    deviations = np.full((1, 3), -np.log(score) / 4.0)
    assert dispersion_penalty(deviations, **PAPER) == pytest.approx([penalty], abs=1e-6)


def test_golden_gate():
    centre = gate_centre(SIMILARITIES)
    assert centre == pytest.approx(0.66)
    assert gate(SIMILARITIES, centre, 1.0) == pytest.approx(
        [0.539915, 0.522485, 0.509999, 0.495, 0.472528, 0.46257, 0.455121, 0.435364, 0.418241],
        abs=1e-6,
    )


def test_a_low_temperature_makes_the_gate_a_step():
    assert gate(np.array([0.5, 0.6, 0.7]), 0.6, 1e-6).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_about_a_root_of_the_pool_is_above_the_centre(count: int):
    values = np.linspace(0.0, 1.0, count)
    above = int((values > gate_centre(values)).sum())
    assert abs(above - np.ceil(np.sqrt(count))) <= 1


class TestGradientsThatFail:
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_cost_the_most_and_spoil_no_other(self, bad: float):
        broken = np.full((1, 4, 4), bad)
        alone = penalties(gram(MILD))
        both = penalties(np.concatenate([broken, gram(MILD)]))
        assert both[0].tolist() == pytest.approx([-np.log(EPS), alone[0][0]])
        assert both[1].tolist() == pytest.approx([6.0, alone[1][0]])

    def test_too_long_to_square(self):
        """Lengths whose sum overflows count as not finite."""
        (first,), (second,) = penalties(np.full((1, 3, 3), 1e308))
        assert (first, second) == (pytest.approx(-np.log(EPS)), 6.0)


def gradients():
    shapes = st.tuples(st.integers(2, 6), st.integers(1, 4))
    return arrays(np.float64, shapes, elements=st.floats(-5, 5, width=16))


@given(gradients())
def test_bounds(rows):
    found = stability(gram(rows), EPS)
    assert 0.0 <= found.consistency[0] <= 1.0
    assert (found.deviations >= 0.0).all()
    (first,), (second,) = penalties(gram(rows))
    assert 0.0 <= first <= -np.log(EPS)
    assert 0.0 <= second < 6.0


@given(gradients())
def test_lengths_are_those_of_the_gradients(rows):
    """What the inner products give is what the gradients themselves give, as the paper writes."""
    found = stability(gram(rows), EPS)
    mean = rows.mean(axis=0)
    squared = (rows**2).sum(axis=1)
    direct = np.linalg.norm(mean) / np.sqrt(squared.mean() + EPS)
    assert found.consistency[0] == pytest.approx(direct, abs=1e-6)
    if np.linalg.norm(mean) > 1e-3:  # else the quotient of two rounding errors
        apart = np.linalg.norm(rows - mean, axis=1) / (np.linalg.norm(mean) + EPS)
        assert found.deviations[0] == pytest.approx(apart, rel=1e-4, abs=1e-4)


@given(gradients(), st.floats(0.25, 8.0))
def test_the_unit_of_gradients_does_not_matter(rows, factor: float):
    mean = np.linalg.norm(rows.mean(axis=0))
    if mean > 1e-2:
        before, after = penalties(gram(rows)), penalties(gram(rows * factor))
        assert np.array(after) == pytest.approx(np.array(before), rel=1e-3, abs=1e-3)


@given(gradients(), st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(rows, shuffle):
    order = list(range(len(rows)))
    shuffle.shuffle(order)
    if np.linalg.norm(rows.mean(axis=0)) > 1e-3:
        before, after = penalties(gram(rows)), penalties(gram(rows[order]))
        assert np.array(after) == pytest.approx(np.array(before), rel=1e-6, abs=1e-6)
