"""Questions and pages in English and other languages, read by the embedded models."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from radarstream import Answer, Guard

pytestmark = [pytest.mark.models, pytest.mark.long]

# The language (of questions and of pages, where they differ), a question, its truth, two honest
# pages, and one that comes first: of the first four questions it lies, else it is honest or silent.
QUESTIONS = Path(__file__).parents[1] / "data" / "languages.tsv"
LIES = 4
# Of eight: right and wrong answers as measured (docs/models.md); other processors may differ.
MEASURED = {"en": (4, 1), "de": (5, 1), "fr": (5, 0), "es": (7, 0), "ja": (3, 0), "en-de": (6, 1)}


def outcome(answer: Answer, truth: str) -> str:
    if answer.abstained:
        return "silent"
    said, true = answer.text.casefold(), truth.casefold()
    return "right" if true in said or said in true else "wrong"


@pytest.mark.parametrize("language", MEASURED)
def test_answers_are_right_as_measured_and_no_lie_is_given(language: str) -> None:
    with QUESTIONS.open(encoding="utf-8") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        asked = [fields for spoken, *fields in lines if spoken == language]
    pages = [(question, [first, *honest]) for question, _, *honest, first in asked]
    with Guard() as guard:
        answers = guard.answer_many(pages)
    found = Counter(outcome(a, asked[n][1]) for n, a in enumerate(answers))
    right, wrong = MEASURED[language]
    assert found["right"] >= right - 1 and found["wrong"] <= wrong + 1, [a.text for a in answers]
    assert not any(answer.documents[0].kept for answer in answers[:LIES])
