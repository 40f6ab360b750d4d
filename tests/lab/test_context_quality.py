"""How well a context serves an answer, by overlap of words."""

import pytest

from radarstream.lab.study.context_quality import (
    faithfulness_lex,
    recall_lex,
    relevancy_lex,
    statements,
)


def test_statements_are_sentences_and_lines() -> None:
    assert statements("It rose by 3.5 %. Why? \n ... \nNobody knows") == (
        "It rose by 3.5 %.",
        "Why?",
        "Nobody knows",
    )
    assert statements(" \n!") == ()


CONTEXT = ["Paris is the capital of France. Cheese is popular.", "Lyon is a city."]


def test_recall_is_of_the_expected_answer() -> None:
    assert recall_lex("Paris is the capital.", CONTEXT) == 1.0
    assert recall_lex("Paris is the capital. Oslo hosts many ships.", CONTEXT) == 0.5
    assert recall_lex("", CONTEXT) == 0.0
    assert recall_lex("Paris", []) == 0.0


def test_a_statement_needs_three_fifths_of_its_words_in_one_document() -> None:
    assert recall_lex("a b c d e", ["a b c"]) == 1.0
    assert recall_lex("a b c d e", ["a b", "c"]) == 0.0
    assert recall_lex("a b c d", ["a b"]) == 0.0


def test_relevancy_is_of_the_context() -> None:
    question = "What is the capital of France?"
    assert relevancy_lex(question, ["Paris"], CONTEXT) == pytest.approx(1 / 3)
    assert relevancy_lex(question, ["Lyon"], CONTEXT) == pytest.approx(2 / 3)
    assert relevancy_lex(question, [], []) == 0.0
    assert relevancy_lex(question, ["Paris"], ["It is Paris. Try the cheese."]) == 0.5


def test_faithfulness_is_of_the_response() -> None:
    assert faithfulness_lex("Paris is the capital.", CONTEXT) == 1.0
    assert faithfulness_lex("Oslo is a capital town.", CONTEXT) == 0.0
    assert faithfulness_lex("", CONTEXT) == 1.0
    assert faithfulness_lex("Oslo", []) == 1.0
    assert faithfulness_lex("Oslo", ["", "?"]) == 1.0
