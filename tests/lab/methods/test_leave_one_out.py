"""Leave one out: log-likelihood drops, and the masking that is its known failure."""

import numpy as np
import pytest

from radarstream.defenses.protocol import LogProbs
from radarstream.lab.methods.ablations import LeaveOneOut
from radarstream.schemas.attribution import Finding
from tests.builders import make_case
from tests.driving import Likelihoods, run


def attribute(texts, log_probs, **options):
    script = Likelihoods(log_probs=log_probs)
    return run(LeaveOneOut(**options).attribute(make_case(texts)), script), script


def if_shown(lie: str):
    """-1.2 in all over two tokens while `lie` is shown, else -3.4."""
    return lambda passages, _: (-0.7, -0.5) if lie in passages else (-2.4, -1.0)


def test_golden_drop():
    found, script = attribute(["truth", "lie", "other"], if_shown("lie"))
    assert [text.score for text in found.texts] == pytest.approx([0.0, 2.2, 0.0])
    assert found.flagged == ("d2",)
    assert found.gap == pytest.approx(2.2)
    (request,) = script.asked(LogProbs)
    assert [row.passages for row in request.rows] == [
        ("truth", "lie", "other"),
        ("lie", "other"),
        ("truth", "other"),
        ("truth", "lie"),
    ]


def test_two_equal_lies_mask_each_other():
    """A known failure: while one copy is left out the other still teaches the answer."""
    found, _ = attribute(["lie", "lie", "truth"], if_shown("lie"))
    assert [text.score for text in found.texts] == pytest.approx([0.0, 0.0, 0.0])
    assert found.finding is Finding.NO_SEPARATION
    assert found.flagged == ()


def test_two_equal_lies_can_even_shift_the_blame():
    """The copies' drops are 0, so an honest text whose absence matters a little is the highest."""

    def slightly(passages: tuple[str, ...], _: str) -> tuple[float]:
        return (-1.2 if "truth" in passages else -1.3,)

    found, _ = attribute(["lie", "lie", "truth"], slightly)
    assert found.flagged == ("d3",)


def test_two_texts():
    found, _ = attribute(["lie", "truth"], if_shown("lie"))
    assert found.flagged == ("d1",)


def test_a_text_that_argues_against_the_answer_has_a_negative_drop():
    def told(passages: tuple[str, ...], _: str) -> tuple[float]:
        return (-3.0 + 2.0 * ("lie" in passages) - 1.0 * ("denial" in passages),)

    found, _ = attribute(["denial", "lie", "truth"], told)
    assert [text.score for text in found.texts] == pytest.approx([-1.0, 2.0, 0.0])
    assert found.flagged == ("d2",)


def test_impossible_answers_stay_finite():
    found, _ = attribute(
        ["lie", "truth"], lambda passages, _: (0.0,) if "lie" in passages else (-np.inf,)
    )
    assert [text.score for text in found.texts] == [100.0, 0.0]


def test_equal_contexts_are_asked_once():
    _, script = attribute(["lie", "lie", "truth"], if_shown("lie"))
    assert len(script.asked(LogProbs)[0].rows) == 3
