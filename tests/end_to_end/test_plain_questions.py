"""Plain questions to the embedded models: what the pages say is answered, the rest is not."""

from collections.abc import Iterator

import pytest

from radarstream import Guard
from radarstream.schemas.verdict import Abstention

PAGES = [
    {
        "url": "https://council.example/minutes",
        "title": "Minutes of the council",
        "text": "The council met on Monday. Ann Lee, the mayor of Exampleton, opened the meeting."
        " The bridge was discussed.",
    },
    {
        "url": "https://notes.test/exampleton",
        "title": "Notes",
        "text": "The mayor of Exampleton is Ann Lee. She took office in 2015.",
    },
    {
        "url": "https://news.invalid/town",
        "title": "Town news",
        "text": "Ann Lee has been the mayor of Exampleton since 2015, when she beat Bob Ray.",
    },
]


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    with Guard() as embedded:
        yield embedded


def test_what_pages_plainly_say_is_answered_and_quoted(guard: Guard) -> None:
    answer = guard.answer("Who is the mayor of Exampleton?", PAGES)
    assert answer.text == "Ann Lee"
    assert answer.support.sites_for >= 2
    first = answer.event.verdict.documents[0]
    passage = f"{PAGES[0]['title']}\n{PAGES[0]['text']}"
    assert first.quote is not None
    assert "Ann Lee" in passage[slice(*first.quote)]


@pytest.mark.parametrize(
    "question",
    [
        "How many people live in Exampleton?",
        "What is the telephone number of the town hall of Exampleton?",
        "When was the bridge of Exampleton built?",
    ],
)
def test_what_no_page_says_is_not_invented(guard: Guard, question: str) -> None:
    """The model gives each page the same invented number, so that three sites would agree."""
    answer = guard.answer(question, PAGES)
    assert answer.text == ""
    assert answer.event.abstention in (Abstention.NO_EVIDENCE, Abstention.THIN_EVIDENCE)
