"""Model text to atomic answers, and answers that claim nothing, in many genres."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.signals.parsing import (
    MAX_ANSWER_CHARACTERS,
    MAX_REASONING_CHARACTERS,
    is_uninformative,
    parse_answer,
    parse_reply,
    says_nothing,
)
from radarstream.schemas.prompt import Task
from radarstream.schemas.tasks import TASKS

ANY_TEXT = st.text(st.characters(categories=None) | st.sampled_from("{}\"'.\n\x00\ud800"))


@given(ANY_TEXT)
def test_any_text_gives_one_clean_line(text: str) -> None:
    answer = parse_answer(text)
    assert len(answer.text) <= MAX_ANSWER_CHARACTERS
    assert answer.text.encode().decode().isprintable()
    assert answer.abstained == is_uninformative(answer.text)
    assert parse_answer(answer.text) == answer
    assert len(parse_answer(text, text).text) <= MAX_ANSWER_CHARACTERS  # to any question


@pytest.mark.parametrize(
    "text",
    ["", "  \n\t ", "...", "I don't know", "I don\u2019t know.", "Answer: I DO NOT KNOW",
     "i dont know", "Sorry, I don't  know who that is.", "No information found",
     "It cannot be determined from this.", "That is not mentioned in the context."],
)  # fmt: skip
def test_abstentions(text: str) -> None:
    assert parse_answer(text).abstained


@pytest.mark.parametrize(
    ("text", "answer"),
    [(" Canberra\n\nQuestion: next", "Canberra"), ("\n\nCanberra", "Canberra"),
     ("Answer: Canberra.", "Canberra"), ("Answer - Canberra", "Canberra"),
     ("Answer -0.3 %", "-0.3 %"), ("Answer: -$5", "-$5"),
     ("Final answer: “Canberra.”", "Canberra"), ("\"'Canberra'\"", "Canberra"),
     ("the U.S.", "the U.S."), ("Ken Griffey Jr.", "Ken Griffey Jr."), ("3.5%.", "3.5%"),
     ("I know: Rome", "I know: Rome"), ("{braces} and %s", "{braces} and %s"),
     ("a\x1b[31mb\ud800c\u202e", "a[31mbc")],
)  # fmt: skip
def test_answers(text: str, answer: str) -> None:
    assert parse_answer(text).text == answer
    assert not parse_answer(text).abstained


AT_LENGTH = (Task.RECALL_PASSAGE, Task.ANSWER_WITH_RATIONALE, Task.CONSOLIDATE_PASSAGES)
RAW = (Task.ASSESS_RISK, Task.PLAN_DEFENSE)
LABELLED = (Task.JUDGE_INDUCEMENT, Task.JUDGE_AGREEMENT)


@given(st.sampled_from(Task), ANY_TEXT | st.just("<ANSWER>") | st.just("The answer is"))
def test_any_reply_gives_one_clean_line(task: Task, text: str) -> None:
    answer = parse_reply(task, text)
    assert len(answer.text) <= MAX_REASONING_CHARACTERS
    assert answer.text.encode().decode().isprintable()
    if task in LABELLED:
        assert answer.text in ("YES", "NO", "")
        assert answer.abstained == (not answer.text)
    elif task in RAW:
        assert answer.abstained == (not answer.text)
    elif task not in AT_LENGTH:
        assert answer == parse_answer(text)


@pytest.mark.parametrize("task", LABELLED)
@pytest.mark.parametrize(
    ("text", "label"),
    [("It orders the reader to answer. [YES]", "YES"), ("[NO]", "NO"),
     ("First [YES],\nbut then\n[ no ].", "NO"), ('The passage says "[NO]". [Yes]', "YES"),
     ("YES", ""), ("(NO) [YES", ""), ("[YESTERDAY] [NOT]", ""), ("", "")],
)  # fmt: skip
def test_the_last_label_of_a_judge_counts(task: Task, text: str, label: str) -> None:
    assert parse_reply(task, text).text == label


@pytest.mark.parametrize("task", AT_LENGTH)
@pytest.mark.parametrize(
    "text", ["", "\n \n", "I don't know.", "I don\u2019t know.\nI do not know!", "...", "\x00"]
)
def test_abstentions_at_length(task: Task, text: str) -> None:
    assert parse_reply(task, text).abstained


@pytest.mark.parametrize(
    ("text", "abstained"),
    [
        ("Passage 1 helps.\n\n- It says Rome.\nThe answer is Rome.", False),
        ("I don't know who wrote passage 1. The answer is Rome.", False),
        ("I don't know passage 1. It says Rome.", False),
        ("Passage 1 is about cups. The answer is I don't know.", True),
        ("The answer is not in passage 1. The final answer is: not mentioned in the context", True),
        ("The answer is I don\u2019t know. Nothing helps.", True),
    ],
)
def test_rationales(text: str, abstained: bool) -> None:
    answer = parse_reply(Task.ANSWER_WITH_RATIONALE, text)
    assert (answer.text, answer.abstained) == (" ".join(text.split()), abstained)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("1 and 2 agree.\n<ANSWER>Rome.</ANSWER>", "Rome"),
        ("<ANSWER>Oslo</ANSWER> no: <answer>\n Rome </answer> (high)", "Rome"),
        ("It is <ANSWER>Rome", "Rome"),
        ("Rome: passages 1 and 2,\nhigh confidence.", "Rome: passages 1 and 2, high confidence."),
        ("\u2039ANSWER>Oslo</ANSWER>", "\u2039ANSWER>Oslo</ANSWER>"),
        ("Nobody knows. <ANSWER>I don't know</ANSWER>", None),
        ("Nothing. <ANSWER></ANSWER>", None),
    ],
)
def test_consolidations(text: str, answer: str | None) -> None:
    found = parse_reply(Task.CONSOLIDATE_PASSAGES, text)
    assert found.abstained if answer is None else (found.text, found.abstained) == (answer, False)


def test_a_long_answer_and_a_long_rationale_are_cut() -> None:
    assert len(parse_answer("word " * 1_000).text) <= MAX_ANSWER_CHARACTERS
    assert len(parse_reply(Task.RECALL_PASSAGE, "word " * 4_000).text) <= MAX_REASONING_CHARACTERS


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
    ["19. Longer answer: 19", "19 Short answer from the passage: 20",
     "19. Question: How many came?", "19; Passage 2: Nineteen people"],
)  # fmt: skip
def test_no_text_of_the_prompt_is_in_an_answer(reply: str) -> None:
    assert parse_answer(reply, "How many came?").text == "19"


@pytest.mark.parametrize("task", TASKS)
def test_an_instruction_is_no_answer(task) -> None:
    instruction = TASKS[task].instruction
    if len(instruction.split()) >= 5:
        assert says_nothing(instruction, "Who came?")
