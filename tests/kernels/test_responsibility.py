"""Standard scores and the exact split in two, against the published example and brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from radarstream.defenses.kernels.responsibility import Split, split_in_two, standard_scores

NUMBERS = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


def split(values: object) -> Split:
    found = split_in_two(np.asarray(values, dtype=np.float64))
    assert found is not None
    return found


def error(values: np.ndarray, mask: np.ndarray) -> float:
    parts = (values[mask], values[~mask])
    return sum(float(((part - part.mean()) ** 2).sum()) for part in parts)


def test_equal_values_and_equally_good_cuts() -> None:
    found = split([1.0, 1.1, 1.2, 1.3, 1.4])
    assert found.error == pytest.approx(0.025)
    assert found.upper.tolist() == [False, False, True, True, True]
    assert split([1.0, 1.0 + 2e-12]).upper.tolist() == [False, True]
    assert split([5.0, 1.0]).upper.tolist() == [True, False]
    for values in ([0.1] * 3, [-7.3] * 10, [0.0, 0.0], [5.0], []):
        assert standard_scores(np.array(values)).tolist() == [0.0] * len(values)
    assert standard_scores(np.array([1e-9, 2e-9])) == pytest.approx([-1.0, 1.0])


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0], [0.1] * 7, [1.0, 1.0 + 9e-13]])
def test_without_two_groups_there_is_no_split(values: list[float]) -> None:
    assert split_in_two(np.array(values, dtype=np.float64)) is None


@given(st.lists(NUMBERS, min_size=2, max_size=9))
def test_no_other_bipartition_is_better(numbers: list[float]) -> None:
    values = np.array(numbers)
    assume(np.ptp(values) >= 1e-3)
    found = split(values)
    assert values[found.upper].min() > values[~found.upper].max()
    assert found.lower_mean < found.upper_mean
    masks = (np.array(mask) for mask in itertools.product((False, True), repeat=len(values)))
    best = min(error(values, mask) for mask in masks if 0 < mask.sum() < len(values))
    assert found.error == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert error(values, found.upper) == pytest.approx(found.error)


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.floats(0.01, 100.0), NUMBERS)
def test_standard_scores_know_no_unit(numbers: list[float], scale: float, shift: float) -> None:
    values = np.array(numbers)
    assume(np.ptp(values) == 0.0 or np.ptp(values) >= 1e-3)
    scores = standard_scores(values)
    np.testing.assert_allclose(standard_scores(scale * values + shift), scores, atol=1e-6)
    if scores.any():
        assert scores.mean() == pytest.approx(0.0, abs=1e-9)
        assert (scores**2).mean() == pytest.approx(1.0)  # the population's deviation


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_is_refused(bad: float) -> None:
    for kernel in (standard_scores, split_in_two):
        with pytest.raises(ValueError, match=r"\[1\] = -?(?:nan|inf)"):
            kernel(np.array([1.0, bad, 2.0]))
        with pytest.raises(ValueError, match="one row"):
            kernel(np.ones((2, 2)))
