"""Retrieval exposure: the worked example, its edges, and what always holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.evaluation.attacks.conditions import Planted
from radarstream.pipelines.evaluation.exposure import EPSILON, Exposure, score_exposure


def test_golden():
    scores = score_exposure([Exposure(2, 5, 5)])
    assert scores.poison_hit == 1.0
    assert scores.poison_recall == pytest.approx(0.4, abs=1e-6)
    assert scores.precision == pytest.approx(0.4)
    assert scores.recall == pytest.approx(0.4)
    assert scores.f1 == pytest.approx(0.4)


def test_poison_recall_divides_by_the_count_plus_epsilon():
    assert Exposure(2, 5, 5).poison_recall == 2 / (5 + EPSILON)
    assert Exposure(5, 5, 5).poison_recall < 1.0


def test_a_question_without_poison_is_no_hit_and_leaves_the_recall_alone():
    scores = score_exposure([Exposure(2, 5, 5), Exposure(0, 0, 5)])
    assert (scores.questions, scores.poisoned_questions) == (2, 1)
    assert scores.poison_hit == 0.5
    assert scores.poison_recall == pytest.approx(0.4)
    assert scores.precision == pytest.approx(0.4)
    assert scores.f1 == pytest.approx(0.4)


def test_nothing_to_average():
    empty = score_exposure([])
    assert (empty.questions, empty.poison_hit, empty.poison_recall, empty.f1) == (
        0,
        None,
        None,
        None,
    )
    clean = score_exposure([Exposure(0, 0, 5)])
    assert (clean.poison_hit, clean.poison_recall, clean.precision) == (0.0, None, None)


def test_precision_and_recall_differ_when_k_is_not_the_number_planted():
    exposure = Exposure(3, 4, 10)
    assert (exposure.precision, exposure.recall) == (0.3, 0.75)
    assert exposure.f1 == pytest.approx(2 * 0.3 * 0.75 / 1.05)
    assert Exposure(0, 4, 10).f1 == 0.0


@pytest.mark.parametrize("counts", [(3, 2, 5), (6, 9, 5), (-1, 2, 5), (0, 2, 0)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(ValueError, match="impossible"):
        Exposure(*counts)


@given(st.sets(st.integers(1, 20)), st.integers(0, 5), st.integers(1, 20))
def test_more_depth_never_exposes_less(ranks, missed, k):
    """`ranks` of the poisoned texts that a search of any depth finds, `missed` by all."""
    planted = Planted("q", 0, "pia", "Lyon", len(ranks) + missed, tuple(sorted(ranks)))
    here, deeper = planted.exposure(k), planted.exposure(k + 1)
    assert here.retrieved <= deeper.retrieved
    for value in (here.poison_recall, here.precision, here.recall, here.f1):
        assert 0.0 <= value <= 1.0
    assert here.hit == (here.retrieved > 0) == (here.f1 > 0)
