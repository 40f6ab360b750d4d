"""Answers that claim nothing, in many genres, and answers that merely look like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.signals.parsing import parse_answer, says_nothing
from radarstream.schemas.tasks import TASKS

WILMINGTON = "What prompted the shooting incident in Wilmington?"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (WILMINGTON, "The shooting incident in Wilmington"),
        (WILMINGTON, "It was the Wilmington shooting incident."),
        ("Who is the President of the US?", "The President of the US is the President of the US"),
        ("Which film won the main prize?", "The film that won the main prize"),
        ("Who is the Emperor of Japan?", "The Emperor of Japan"),
        ("How much did the new stadium cost?", "The cost of the new stadium"),
        ("When was the suspension bridge rebuilt?", "when the suspension bridge was rebuilt"),
        ("What dose of ibuprofen do adults take?", "the dose of ibuprofen that adults take"),
        ("Why did the central bank raise rates?", "The central bank raised rates"),
        ("Which team beat the champions on Sunday?", "The team beat the champions on Sunday."),
        ("Who wrote the first computer program?", "The text does not say who wrote it"),
        ("Who wrote the first computer program?", "The passage doesn't mention a name"),
        ("Who wrote the first computer program?", "The short answer"),
        ("Who wrote the first computer program?", "given in the passage"),
        ("Who wrote the first computer program?", "Write the answer that most of them agree on"),
    ],
)
def test_an_answer_that_claims_nothing_is_an_abstention(question: str, answer: str) -> None:
    assert parse_answer(answer, question).abstained


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of Singapore?", "Singapore"),
        ("What city is the capital of Mexico?", "Mexico City"),
        ("Who leads the poll, Ann Lee or Bob Ray of Ohio?", "Bob Ray of Ohio"),
        ("Pick one: red apples, green apples or blue plums?", "green apples"),
        ("Is the new stadium open to visitors?", "The new stadium is open to visitors"),
        ("When was the suspension bridge rebuilt?", "The suspension bridge was rebuilt in 1950"),
        (WILMINGTON, "A dispute over parking"),
        (WILMINGTON, "An argument before the shooting incident in Wilmington"),
        ("What does the law say about drones?", "The law does not mention drones"),
        ("How many people came?", "19"),
        ("Who is the Emperor of Japan?", "Naruhito, Emperor of Japan"),
        ("Who founded Ford?", "Ford"),
        ("Which label was on the box?", "Answer key"),
    ],
)
def test_an_answer_that_claims_something_stays(question: str, answer: str) -> None:
    assert parse_answer(answer, question).text == answer.rstrip(".")
    assert not parse_answer(answer, question).abstained


@pytest.mark.parametrize(
    "reply",
    [
        "19. Longer answer: 19",
        "19 Short answer from the passage: 20",
        "19. Question: How many came?",
        "19; Passage 2: Nineteen people",
    ],
)
def test_no_text_of_the_prompt_is_in_an_answer(reply: str) -> None:
    assert parse_answer(reply, "How many came?").text == "19"


@pytest.mark.parametrize("task", TASKS)
def test_an_instruction_is_no_answer(task) -> None:
    instruction = TASKS[task].instruction
    if len(instruction.split()) >= 5:
        assert says_nothing(instruction, "Who came?")


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_judged(answer: str, question: str) -> None:
    assert says_nothing(answer, question) in (True, False)
