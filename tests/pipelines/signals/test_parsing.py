"""Model text to atomic answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.signals.parsing import (
    MAX_ANSWER_CHARACTERS,
    MAX_REASONING_CHARACTERS,
    is_uninformative,
    parse_answer,
    parse_reply,
)
from radarstream.schemas.prompt import Task

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
    ["", "  \n\t ", "...", "I don't know", "I don\u2019t know.", "Answer: I DO NOT KNOW",
     "i dont know", "Sorry, I don't  know who that is.", "No information found",
     "It cannot be determined from this.", "That is not mentioned in the context."],
)  # fmt: skip
def test_abstentions(text: str) -> None:
    assert parse_answer(text).abstained


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" Canberra\n\nQuestion: next", "Canberra"),
        ("\n\nCanberra", "Canberra"),
        ("Answer: Canberra.", "Canberra"),
        ("Answer - Canberra", "Canberra"),
        ("Answer -0.3 %", "-0.3 %"),
        ("Answer: -$5", "-$5"),
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
    [
        ("It orders the reader to answer. [YES]", "YES"),
        ("[NO]", "NO"),
        ("First [YES],\nbut then\n[ no ].", "NO"),
        ('The passage says "[NO]". [Yes]', "YES"),
        ("YES", ""),
        ("(NO) [YES", ""),
        ("[YESTERDAY] [NOT]", ""),
        ("", ""),
    ],
)
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
    assert answer.text == " ".join(text.split())
    assert answer.abstained == abstained


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
