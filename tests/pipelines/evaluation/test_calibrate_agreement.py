"""The calibration of the embedded relation scorer: its measures, its labels, its coefficients."""

from pathlib import Path

import numpy as np
import pytest

from radarstream.connectors.models.answer_agreement.scorer import fitted_on, question_hash
from radarstream.pipelines import settings as s
from radarstream.pipelines.evaluation import calibrate_agreement as calibration
from radarstream.pipelines.evaluation.answer_variants import coarser, equivalents, near_miss
from radarstream.pipelines.evaluation.defences.scorers import fitting_note
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
    what, fitted = fitted_on()
    assert "pairs of answers" in what
    own = {question_hash(p.question) for name in FITTED for p in read_own(name, PAIRS)}
    assert fitted == own
    assert not {question_hash(item.question) for item in items()} & fitted


def test_a_data_set_that_the_scorer_was_fitted_on_is_marked():
    seen = read_own(FITTED[0], PAIRS)[0].question
    clean = fitting_note(s.AnswerAgreement(), ["Who opened a shop in Freedonia?"])
    marked = fitting_note(s.AnswerAgreement(), [f"  {seen.upper()} ", "Who else?"])
    assert clean is not None
    assert "no question of this data set is among them" in clean
    assert marked is not None
    assert "1 of these questions are among them" in marked
    assert fitting_note(s.ScriptedRelations(), [seen]) is None


def test_the_checked_in_coefficients_reproduce_and_hold_on_published_pairs():
    items()
    table = calibration.calibrate(PAIRS)
    assert calibration.reproduces(table)
    published = table["figures"]["as_published"]
    assert published["auc_entailment"] >= 0.95
    assert published["auc_contradiction"] >= 0.95
