"""What a state remembers of a wrong answer, and what it keeps."""

import pytest

from radarstream.schemas.memory import Belief, LastAnswer, without_answer

RAY, LEE = Belief("Bob Ray", 0.9, 0.1), Belief("Ann Lee", 0.9, 0.1)


@pytest.mark.parametrize("wrong", ["Bob Ray", "bob ray.", "Mayor Bob Ray", "Ray"])
def test_a_belief_that_names_the_answer_goes(wrong: str) -> None:
    assert without_answer(RAY, wrong) is None
    assert without_answer(LastAnswer("Bob Ray", RAY), wrong) == LastAnswer(None, None)


@pytest.mark.parametrize("wrong", ["Ann Lee", "Bo", "", "?"])
def test_anything_else_stays(wrong: str) -> None:
    assert without_answer(RAY, wrong) == RAY
    assert without_answer(LastAnswer("Bob Ray", RAY), wrong) == LastAnswer("Bob Ray", RAY)
    assert without_answer(None, wrong) is None


@pytest.mark.parametrize(("true", "lie"), [("0.3 %", "-0.3 %"), ("-0.3 %", "0.3 %")])
def test_a_lie_about_the_sign_takes_no_truth_with_it(true: str, lie: str) -> None:
    assert without_answer(Belief(true, 0.9, 0.1), lie) == Belief(true, 0.9, 0.1)
    assert without_answer(Belief(lie, 0.9, 0.1), lie.replace("-", "\u2212")) is None


def test_a_history_and_what_it_wraps_are_judged_apart() -> None:
    assert without_answer(LastAnswer("Bob Ray", LEE), "Bob Ray") == LastAnswer(None, LEE)
    assert without_answer(LastAnswer("Ann Lee", RAY), "Bob Ray") == LastAnswer("Ann Lee", None)
