"""Values that stand out: standard scores added up, and scores that outliers cannot move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from radarstream.defenses.kernels.spikes import combined, modified_scores


def test_golden_spike():
    shifts = np.array([0.9, 0.1, 0.1, 0.1, 0.1])
    assert combined([shifts, np.zeros(5)]) == pytest.approx([2.0, -0.5, -0.5, -0.5, -0.5])


@pytest.mark.parametrize("count", range(2, 9))
def test_a_lone_spike_scores_the_root_of_the_others(count: int):
    spike = np.eye(count)[0]
    assert combined([spike])[0] == pytest.approx(np.sqrt(count - 1))


@given(arrays(np.float64, st.integers(1, 8), elements=st.floats(-5, 5, width=16)))
def test_no_value_scores_more_than_a_lone_spike(values):
    assert combined([values]).max() <= np.sqrt(max(len(values) - 1, 0)) + 1e-9


def test_modified_scores():
    """Median 3, distances 2, 1, 0, 1, 97: their median is 1."""
    scores = modified_scores(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    assert scores == pytest.approx(0.6745 * np.array([-2, -1, 0, 1, 97]))


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0], [1.0, 1.0, 1.0, 9.0]])
def test_where_most_are_equal_nothing_stands_out(values: list[float]):
    assert modified_scores(np.array(values)).tolist() == [0.0] * len(values)
