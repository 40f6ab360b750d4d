"""Salient tokens and how improbable they are: by hand, ties, and texts without any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from radarstream.lab.kernels.masked_tokens import reference_mean, salient


def test_tokens_above_the_mean_then_the_highest():
    """The mean of .1, .9, .2, .8, .5 is .5, which .5 does not exceed."""
    saliences = np.array([0.1, 0.9, 0.2, 0.8, 0.5])
    assert salient(saliences, 10).tolist() == [1, 3]
    assert salient(saliences, 1).tolist() == [1]


@pytest.mark.parametrize("saliences", [[], [0.3], [0.0, 0.0], [0.1] * 7])
def test_equal_tokens_have_none(saliences: list[float]):
    assert salient(np.array(saliences), 10).tolist() == []


def test_of_equal_tokens_the_earliest():
    assert salient(np.array([0.9, 0.0, 0.9, 0.0, 0.9]), 2).tolist() == [0, 2]


@given(arrays(np.float64, st.integers(0, 9), elements=st.floats(0, 5)), st.integers(1, 9))
def test_none_left_out_is_more_salient(saliences, most: int):
    places = salient(saliences, most)
    assert len(places) <= most
    left = np.setdiff1d(np.arange(len(saliences)), places)
    if len(places) and len(left):
        assert saliences[left].max() <= saliences[places].min() or len(places) < most


def test_a_reference_is_the_mean_over_all_lowest():
    """A text with fewer tokens counts less: .1, .3 and .8 have mean .4."""
    texts = [np.array([0.5, 0.1, 0.3]), np.array([0.8]), np.array([])]
    assert reference_mean(texts, 2) == pytest.approx(0.4)


@pytest.mark.parametrize("texts", [[], [np.array([])]])
def test_no_token_is_no_reference(texts: list[np.ndarray]):
    with pytest.raises(ValueError, match="at least one token"):
        reference_mean(texts, 5)
