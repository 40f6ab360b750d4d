"""Where a passage says an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.models.answer_agreement.quoting import (
    nearest_sentence,
    quote_of,
    sentences,
)

SAID = [
    ("Who wrote it?", "Ann Lee", "A play. Ann Lee wrote it in 1999.", "Ann Lee wrote it in 1999."),
    ("Who wrote it?", "It was written by Ann Lee", "Ann Lee wrote it. So?", "Ann Lee wrote it."),
    ("How many plays?", "2", "She lived. She wrote two plays.", "She wrote two plays."),
    ("How heavy was she?", "116 tons", "The 116-ton schooner sank.", "The 116-ton schooner sank."),
    ("When was it?", "3 May 1999", "It was on May 3, 1999.\nMore.", "It was on May 3, 1999."),
    ("In what year was it?", "1999", "It was on 3 May 1999.", "It was on 3 May 1999."),
    ("What number has it?", "17.37.59", "Drawings. Number 17.37.59. Gift.", "Number 17.37.59."),
    ("Is it open?", "Yes", "The bridge. It is open now.", "It is open now."),
    ("Where?", "Bern and Lima", "First Lima, of Peru. Then Bern.", "First Lima, of Peru."),
    ("首都?", "東京", "日本の首都は東京です。", "日本の首都は東京です。"),
    ("哪一年?", "1918", "由鲁迅于1918年写成", "由鲁迅于1918年写成"),
    ("Who?", "J.K. Rowling", "A book. By J. K. Rowling.", "By J. K. Rowling."),
    ("How many?", "1,234,567", "A city. Of 1 234 567 people.", "Of 1 234 567 people."),
    ("Where?", "First. Then", "It was first. Then it was not.", "It was first. Then it was not."),
]  # fmt: skip
UNSAID = [
    ("In what year was it?", "1876", "It was in the autumn of 2014."),
    ("When was it?", "3 May 1999", "It was in May 1999."),
    ("How many episodes?", "10", "Season 1, of 13 episodes."),
    ("Which arm?", "the left arm", "Her right arm was nearly lost."),
    ("Who was it?", "John Napier", "It was Arthur Cayley, a lawyer."),
    ("Who was it?", "Ann Lee", ""),
    ("Is the bridge open?", "Yes", "Bananas are yellow."),
    ("哪一年?", "918年", "由鲁迅于1918年写成"),
]


@pytest.mark.parametrize(("question", "answer", "passage", "quote"), SAID)
def test_an_answer_is_quoted_where_the_passage_says_it(
    question: str, answer: str, passage: str, quote: str
) -> None:
    found = quote_of(answer, question, passage)
    assert found is not None
    assert passage[slice(*found)] == quote


@pytest.mark.parametrize(("question", "answer", "passage"), UNSAID)
def test_what_a_passage_does_not_say_is_not_quoted(
    question: str, answer: str, passage: str
) -> None:
    assert quote_of(answer, question, passage) is None


@given(st.text(max_size=400), st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_searched_and_a_quote_lies_within_it(
    passage: str, answer: str, question: str
) -> None:
    found = quote_of(answer, question, passage)
    assert found is None or 0 <= found[0] < found[1] <= len(passage)
    near = nearest_sentence(question, passage)
    assert near is None or near[0] in sentences(passage)


WORDS = ["Ann", "Lee", "wrote", "17", "plays", "in", "Bern.", "Then", "1999", "came!"]


@given(st.lists(st.sampled_from(WORDS), min_size=1))
def test_words_in_a_row_are_always_found(words: list[str]) -> None:
    passage = f"Before. {' '.join(words)} After."
    assert quote_of(" ".join(words), "What?", passage) is not None


def test_a_hostile_passage_takes_no_longer_than_its_first_part() -> None:
    assert quote_of("Ann", "Who?", "1 " * 1_000_000 + "Ann") is None
