"""The calibration of the embedded relation scorer: its measures, its labels, its coefficients."""

from pathlib import Path

import numpy as np
import pytest

from radarstream.pipelines.evaluation import calibrate_agreement as calibration
from radarstream.pipelines.evaluation.answer_variants import coarser, equivalents, near_miss
from radarstream.pipelines.evaluation.halves import question_digest
from radarstream.pipelines.evaluation.overlap import FITTED_SCORER, Fit
from radarstream.pipelines.evaluation.own_pairs import FITTED, read_own
from radarstream.schemas.errors import ConfigurationError

PAIRS = Path(__file__).parents[2] / "data" / "answer_pairs"


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


def test_no_question_of_an_evaluation_is_fitted():
    fit = Fit.of(FITTED_SCORER)
    assert "pairs of answers" in fit.words
    own = {question_digest(p.question) for name in FITTED for p in read_own(name, PAIRS)}
    assert fit.questions == own
    assert fit.overlap(item.question for item in items()) is None


@pytest.mark.long
def test_the_checked_in_coefficients_reproduce_and_hold_on_published_pairs():
    items()
    table = calibration.calibrate(PAIRS)
    assert calibration.reproduces(table)
    published = table["figures"]["as_published"]
    assert published["auc_entailment"] >= 0.95
    assert published["auc_contradiction"] >= 0.95
