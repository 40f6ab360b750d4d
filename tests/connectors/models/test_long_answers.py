"""Answers are untrusted: reading and comparing them takes a bounded time."""

from time import process_time

import pytest

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.models.answer_agreement.words import plain_text
from radarstream.schemas.prompt import AnswerPair

QUESTION = "How many people died?"


@pytest.mark.parametrize("repeated", ["a", "Aa ", "½3", "\ufdfa", "5% ", "the answer is ", "$ \t"])
def test_hostile_answers_are_compared_in_little_time(repeated: str) -> None:
    longest = (repeated * 1_000)[:1_000]
    pairs = [AnswerPair(QUESTION, f"{longest}{i}", f"Lima {i} {longest}") for i in range(4)]
    started = process_time()
    AnswerAgreement().probabilities(pairs)
    assert process_time() - started < 2.0


def test_answers_too_long_to_read_are_the_same_only_as_a_whole() -> None:
    long = "Lima is the capital of Peru. " * 20
    pairs = [
        AnswerPair(QUESTION, long, f"{long} "),
        AnswerPair(QUESTION, long, f"{long} It is Cusco."),
        AnswerPair(QUESTION, f"It is not {long}", long),
        AnswerPair(QUESTION, long, "Lima"),
    ]
    classes = AnswerAgreement().probabilities(pairs).argmax(axis=1).tolist()
    assert classes == [0, 1, 1, 1]  # entailment, then neutral


def test_a_word_of_two_alphabets_is_read_in_latin_letters_however_long() -> None:
    assert plain_text("L\u0456m\u0430") == "Lima"
    assert plain_text("\u041b\u0438\u043c\u0430") == "\u041b\u0438\u043c\u0430"
    started = process_time()
    assert plain_text("a" * 1_500) == "a" * 1_500
    assert process_time() - started < 2.0
