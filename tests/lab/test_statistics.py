"""Tests of paired differences against brute force, known values and each other."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.lab.study import comparison
from radarstream.lab.study.comparison import PairedTest, holm, mcnemar_exact, sign_flip


def test_mcnemar_exact():
    known = {(0, 0): 1.0, (0, 1): 1.0, (0, 5): 0.0625, (1, 9): 0.021484375, (6, 6): 1.0,
             (25, 75): 5.636e-7}  # fmt: skip
    for (one, other), p_value in known.items():
        assert mcnemar_exact(one, other) == pytest.approx(p_value, rel=0.01)
        assert mcnemar_exact(other, one) == mcnemar_exact(one, other)
    assert 0.0 <= mcnemar_exact(900, 1200) < 1e-9
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 2)


def brute_force(differences):
    sums = [abs(np.dot(s, differences)) for s in product((1, -1), repeat=len(differences))]
    return sum(total >= abs(sum(differences)) - 1e-9 for total in sums) / len(sums)


@given(st.lists(st.integers(-4, 4), min_size=0, max_size=8))
def test_sign_flips_of_few_questions_are_exact(values):
    p_value, test = sign_flip(np.array(values, dtype=float), seed=0)
    assert test is PairedTest.SIGN_FLIP
    assert p_value == pytest.approx(brute_force([v for v in values if v]))


@settings(max_examples=20)
@given(st.integers(0, 13))
def test_sign_flips_of_single_answers_are_mcnemar(only_one):
    differences = np.array([1.0] * only_one + [-1.0] * (13 - only_one) + [0.0] * 5)
    p_value, _ = sign_flip(differences, seed=0)
    assert p_value == pytest.approx(mcnemar_exact(only_one, 13 - only_one))


def test_drawn_sign_flips_are_near_the_exact_value_and_never_zero():
    differences = np.array([1.0] * 11 + [-1.0] * 4)
    p_value, test = sign_flip(differences, seed=1)
    exact = 2 * sum(comb(15, i) for i in range(5)) / 2**15
    assert test is PairedTest.SIGN_FLIP_DRAWN
    assert p_value == pytest.approx(exact, abs=0.012)
    assert sign_flip(differences, seed=1)[0] == p_value
    assert sign_flip(np.ones(60), seed=0)[0] == 2 / (comparison.PERMUTATIONS + 1)


def test_no_question_alone_differs_by_more_than_chance():
    for moved in ([], [0.0, 0.0], [3.0], [0.0, -2.0]):
        assert sign_flip(np.array(moved), seed=0) == (1.0, PairedTest.SIGN_FLIP)


def test_holm():
    assert holm([]) == []
    assert holm([0.04]) == [0.04]
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]


@given(st.lists(st.floats(0.0, 1.0), max_size=12))
def test_holm_keeps_the_order_and_only_raises(values):
    adjusted = holm(values)
    assert all(value <= found <= 1.0 for value, found in zip(values, adjusted, strict=True))
    by_value = [found for _, found in sorted(zip(values, adjusted, strict=True))]
    assert by_value == sorted(by_value)
