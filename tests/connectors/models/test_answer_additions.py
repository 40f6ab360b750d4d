"""What one answer may add to another, and what else it must not hide behind the same words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.schemas.prompt import AnswerPair

SCORER = AnswerAgreement()
SAME_FROM = 0.5
WHO = "Who opened the harbour?"
WHAT = "What lay on the deck?"
SAFE = "Is the harbour safe?"
WHERE = "Where did the ship dock?"
FIRM = "Which company built the ship?"


def entailments(question: str, one: str, other: str) -> list[float]:
    """Entailment in both directions."""
    pairs = [AnswerPair(question, one, other), AnswerPair(question, other, one)]
    return [float(p) for p in SCORER.probabilities(pairs)[:, 0]]


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (WHO, "Norwegian explorer Liv Arnesen", "Liv Arnesen"),
        (WHO, "Liv Arnesen, the mayor of Bergen", "Arnesen"),
        (WHO, "NATO chief Liv Arnesen", "Arnesen"),
        (WHO, "It was opened by Liv Arnesen", "Liv Arnesen opened it"),
        (WHERE, "the Polish city of Gdynia", "Gdynia"),
        (WHERE, "Gdynia", "Gdynia in northern Poland"),
        (FIRM, "Finnish shipbuilder Meyer Turku", "Meyer Turku Ltd"),
        (WHAT, "a crew of nine", "nine"),
        (WHAT, "two anchors and a chain", "a chain and two anchors"),
        (SAFE, "Yes, it is safe", "Yes"),
        (SAFE, "It is unsafe", "No"),
        ("What was the result?", "Bergen lost 2-1 to Molde", "Molde beat Bergen 2-1"),
        ("How old is she?", "aged 41", "41 years old"),
        ("What is the fare?", "2 euros 50", "\u20ac2.50"),
    ],
)
def test_what_adds_nothing_else_leaves_two_answers_the_same(
    question: str, one: str, other: str
) -> None:
    assert sum(entailments(question, one, other)) / 2 >= SAME_FROM


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (WHO, "a critic of Liv Arnesen", "Liv Arnesen"),
        (WHO, "Liv Arnesen's deputy", "Liv Arnesen"),
        (WHO, "the King of Norway", "Norway"),
        (WHO, "Foreign Minister Arnesen", "Prime Minister Arnesen"),
        (WHO, "Mr Arnesen", "Ms Arnesen"),
        (WHO, "Trump", "Ivanka Trump"),
        (WHO, "Arnesen", "Arnesen?"),
        (WHERE, "Washington, D.C.", "Washington State"),
        (WHERE, "Kansas", "Kansas City"),
        (WHERE, "Tripoli", "Tripoli, Lebanon"),
        (WHERE, "Gdynia", "near Gdynia"),
        (FIRM, "Meyer Turku", "Meyer Turku's rival"),
        (WHAT, "two anchors and a chain", "two chains and an anchor"),
        (SAFE, "Yes", "Yes, it is unsafe"),
        (SAFE, "Yes", "Yes and no"),
        (SAFE, "No", "No doubt it is safe"),
        (SAFE, "Yes", "It used to be safe"),
        ("Which cities bid?", "Bergen and Molde", "Bergen, Molde and Oslo"),
        ("Which part is it?", "KX-10-A", "KX-10-B"),
        ("How many ships sank?", "12 ships", "12 percent of ships"),
        ("By how much did it rise?", "half a percentage point", "half"),
    ],
)
def test_what_is_not_understood_is_never_the_same(question: str, one: str, other: str) -> None:
    assert max(entailments(question, one, other)) < SAME_FROM


NAMES = st.sampled_from(("Bergen", "Molde", "Tromso", "Bodo"))
DEEDS = st.sampled_from(("defeated", "sued", "attacked"))


@given(NAMES, NAMES, DEEDS)
def test_the_passive_says_what_the_active_says_and_never_the_reverse(
    one: str, other: str, did: str
) -> None:
    if one == other:
        return
    active = f"{one} {did} {other}"
    assert min(entailments("What happened?", active, f"{other} was {did} by {one}")) >= SAME_FROM
    assert max(entailments("What happened?", active, f"{one} was {did} by {other}")) < SAME_FROM


@given(st.sampled_from(("pump", "valve", "mast", "winch")), st.integers(2, 99), st.integers(2, 99))
def test_a_bare_number_may_stand_for_any_count_but_not_for_a_share(
    thing: str, number: int, other: int
) -> None:
    question = f"How many {thing}s failed?"
    assert max(entailments(question, f"{number} {thing}s", f"{number}% of {thing}s")) < SAME_FROM
    same = min(entailments(question, f"{number} {thing}s", f"{other}")) >= SAME_FROM
    assert same == (number == other)
