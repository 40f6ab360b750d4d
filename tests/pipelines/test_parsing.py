"""Model text to atomic answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.signals.parsing import MAX_ANSWER_CHARACTERS, is_uninformative, parse_answer

ANY_TEXT = st.text(st.characters(categories=None) | st.sampled_from("{}\"'.\n\x00\ud800"))


@given(ANY_TEXT)
def test_any_text_gives_one_clean_line(text: str) -> None:
    answer = parse_answer(text)
    assert len(answer.text) <= MAX_ANSWER_CHARACTERS
    assert answer.text.encode().decode().isprintable()
    assert answer.abstained == is_uninformative(answer.text)


@given(ANY_TEXT)
def test_parsing_its_own_answer_changes_nothing(text: str) -> None:
    once = parse_answer(text)
    assert parse_answer(once.text) == once


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n\t ",
        "...",
        "I don't know",
        "I don\u2019t know.",
        "Answer: I DO NOT KNOW",
        "i dont know",
        "Sorry, I don't  know who that is.",
        "No information found",
        "It cannot be determined from this.",
        "That is not mentioned in the context.",
    ],
)
def test_abstentions(text: str) -> None:
    assert parse_answer(text).abstained


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" Canberra\n\nQuestion: next", "Canberra"),
        ("\n\nCanberra", "Canberra"),
        ("Answer: Canberra.", "Canberra"),
        ("Final answer: “Canberra.”", "Canberra"),
        ("\"'Canberra'\"", "Canberra"),
        ("the U.S.", "the U.S."),
        ("Ken Griffey Jr.", "Ken Griffey Jr."),
        ("3.5%.", "3.5%"),
        ("I know: Rome", "I know: Rome"),
        ("{braces} and %s", "{braces} and %s"),
        ("a\x1b[31mb\ud800c\u202e", "a[31mbc"),
    ],
)
def test_answers(text: str, answer: str) -> None:
    assert parse_answer(text).text == answer
    assert not parse_answer(text).abstained


def test_a_long_answer_is_cut() -> None:
    assert len(parse_answer("word " * 1_000).text) <= MAX_ANSWER_CHARACTERS
