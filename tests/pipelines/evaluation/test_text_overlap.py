"""Exact match, token F1, ROUGE-L, and what a defence leaves of the context."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.evaluation.context_quality import (
    faithfulness_lex,
    recall_lex,
    relevancy_lex,
    statements,
)
from radarstream.pipelines.evaluation.defences.answers import study_frame
from radarstream.pipelines.evaluation.defences.records import EvidenceRow, Row
from radarstream.pipelines.evaluation.scoring import exact_match, rouge_l_f1, token_f1
from radarstream.schemas.snapshot import Document, Labels
from radarstream.schemas.verdict import DocumentVerdict, Reason, Verdict
from tests.study_rows import record, row

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6).map(" ".join)


def test_token_f1_golden() -> None:
    assert token_f1("barack obama president", ["barack obama"]) == pytest.approx(0.8)
    assert token_f1("Obama, Barack", ["barack obama"]) == 1.0
    assert token_f1("a a b", ["a b b"]) == pytest.approx(2 / 3)


def test_the_closest_answer_counts() -> None:
    assert token_f1("barack obama", ["donald trump", "obama"]) == pytest.approx(2 / 3)
    assert exact_match("The U.S.A.", ["France", "the usa"]) == 1.0
    assert exact_match("in the USA", ["the usa"]) == 0.0
    assert (exact_match("a", []), token_f1("a", []), rouge_l_f1("a", [])) == (0.0, 0.0, 0.0)


def test_rouge_l_golden() -> None:
    """As in Lin's example: the one keeps the order, the other does not."""
    reference = ["police killed the gunman"]
    assert rouge_l_f1("police kick the gunman", reference) == 0.75
    assert rouge_l_f1("the gunman kick police", reference) == 0.5
    assert rouge_l_f1("the cat sat on the mat", ["the dog sat on a mat"]) == pytest.approx(2 / 3)


@given(WORDS, WORDS)
def test_overlaps_are_symmetric_shares_and_order_never_helps(one, other) -> None:
    f1, rouge = token_f1(one, [other]), rouge_l_f1(one, [other])
    assert 0.0 <= rouge <= f1 <= 1.0
    assert f1 == token_f1(other, [one])
    assert rouge == rouge_l_f1(other, [one])
    assert (rouge == 1.0) == (one == other != "")


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


LABELS = Labels(answers=("Paris", "the city of Paris"))


def evidence(step: int = 0) -> EvidenceRow:
    return EvidenceRow(
        condition="benign",
        query_id="q0",
        question="Which city?",
        step=step,
        observed_at=datetime(2020, 1, 1, tzinfo=UTC),
        documents=(Document(1, "Paris"), Document(2, "Lyon")),
        labels=LABELS,
    )


def judged(*verdicts: DocumentVerdict) -> Row:
    found = row("Paris", labels=LABELS)
    return replace(found, verdict=Verdict("Paris", verdicts))


def context_scores(answer: Row, seen: EvidenceRow | None = None) -> tuple[float | None, ...]:
    """The four scores of the only answer of a study."""
    frame = study_frame([answer], record(), [seen or evidence()])
    names = ("recall_lex", "relevancy_lex", "answer_relevancy_lex", "faithfulness_lex")
    return frame.select(names).row(0)


def test_context_is_what_the_verdict_kept() -> None:
    cut = DocumentVerdict(2, False, Reason.CUT)
    kept = DocumentVerdict(1, True, Reason.SUPPORTED)
    assert context_scores(judged(kept, cut)) == (1.0, 1.0, 1.0, 1.0)
    lost = DocumentVerdict(1, False, Reason.CUT)
    recall, relevancy, _, faithfulness = context_scores(judged(lost, cut))
    assert (recall, relevancy, faithfulness) == (0.0, 0.0, 1.0)


def test_a_defence_that_selects_nothing_answers_from_everything() -> None:
    unjudged = [DocumentVerdict(rank, True, Reason.NOT_JUDGED) for rank in (1, 2)]
    for verdicts in ([], unjudged):
        assert context_scores(judged(*verdicts))[:2] == (1.0, 0.5)


def test_errors_and_answers_without_evidence_or_labels_are_left_out() -> None:
    nothing = (None,) * 4
    assert context_scores(judged()) != nothing
    assert context_scores(row(None, error="down", labels=LABELS)) == nothing
    assert context_scores(row("Paris", labels=Labels())) == nothing
    assert context_scores(judged(), evidence(step=4)) == nothing
