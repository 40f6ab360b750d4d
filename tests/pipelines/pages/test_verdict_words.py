"""An answer's sentence, its documents' table and its status, told with the same numbers."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.pages.replay.page import render_report
from radarstream.pipelines.pages.verdict_words import judged_in_words, support_in_words
from radarstream.pipelines.serving.console.showing import MEANINGS
from radarstream.schemas.support import STATUS_RULE, AnswerStatus, Support, status_of
from radarstream.schemas.verdict import DocumentVerdict, Reason, Verdict
from tests.pipelines.pages.report_run import make_record, make_run

ROOT = Path(__file__).parents[3]


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 3))
def test_the_status_follows_from_the_numbers_of_the_sentence(sites, rivals, withstand) -> None:
    rival = "Rome" if rivals else None
    told = support_in_words(Support(sites, rivals, rival_answer=rival))
    said = re.match(r"(\d+) independent sites? says? so(?:, (\d+) says? Rome)?", told)
    assert said is not None
    disputed = said[2] is not None and int(said[1]) - int(said[2]) <= withstand
    undisputed = AnswerStatus.SINGLE_SOURCE if said[1] == "1" else AnswerStatus.CORROBORATED
    expected = AnswerStatus.DISPUTED if disputed else undisputed
    assert status_of(Support(sites, rivals), withstand) is expected


@pytest.mark.parametrize("reason", list(Reason))
@pytest.mark.parametrize("kept", [True, False])
def test_a_document_that_says_so_is_never_told_as_rejected(reason: Reason, kept: bool) -> None:
    document = DocumentVerdict(3, kept, reason, "Rome", 0.1, 0.9, 0.5)
    other = DocumentVerdict(1, True, Reason.SUPPORTED, "Rome", 0.9, 0.1, 0.5)
    verdict = Verdict("Rome", (other, document), edges=((1, 3, 0.2), (1, 2, 0.9)))
    support = Support(2, stances_for=((1, 1.0), (3, 1.0)))
    side, told = judged_in_words(document, verdict, support)
    assert judged_in_words(document, Verdict("Rome", (document,)))[1]
    assert side == "says so" and "contradicted" not in told.replace("do not contradict", "")


def test_only_documents_that_say_so_are_named_as_contradicting_another() -> None:
    cut = DocumentVerdict(3, False, Reason.CUT, "Bern", 0.1, 0.9, 0.5)
    others = [DocumentVerdict(rank, True, Reason.SUPPORTED) for rank in (1, 2)]
    verdict = Verdict("Rome", (*others, cut), edges=((1, 2, 0.9),))
    support = Support(1, 1, stances_for=((1, 1.0),), stances_against=((3, 1.0),))
    assert judged_in_words(cut, verdict, support)[1] == "contradicted by document 1"


def test_disputed_and_corroborated_are_told_apart_in_one_sentence_everywhere() -> None:
    """`ask --explain` is in `tests/end_to_end/test_ask_command.py`."""
    paths = ("docs/consuming.md", "README.md", "schemas/json/answer.defended.2.json")
    pages = (" ".join((ROOT / path).read_text().split()) for path in paths)
    report = render_report(*make_run(steps=1), make_record())
    assert all(STATUS_RULE in text for text in (report, MEANINGS["Status"], *pages))
