"""What one reranking is worth: the published figures, and the limits of every measure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.retrieval.records import Candidate, GuardedRow, PoolRow, RerankingRow
from radarstream.lab.retrieval.rerankers import behind
from radarstream.lab.retrieval.scoring import answer_line, ndcg, reranking_line
from radarstream.lab.study.frame import Values
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import Reason

WHERE = {"condition": "hotflip", "query_id": "q-0"}


def pool(marks: str, labels: Labels) -> PoolRow:
    """A pool of one candidate a letter, nearest first: p is planted, r right, c another one."""
    candidates = tuple(
        Candidate(f"d{place}", 1.0 - place / 100, mark == "p", mark == "r")
        for place, mark in enumerate(marks)
    )
    return PoolRow("hotflip", "q-0", "Who?", candidates, labels)


def judged(marks: str, *order: int, k: int = 5, kept: int | None = None) -> Values:
    """The line of a pool in a new order; the first `kept` stay."""
    whole = (*order, *(rank for rank in range(1, len(marks) + 1) if rank not in order))
    stay = whole[: k if kept is None else kept]
    candidates = tuple(
        JudgedCandidate(place, rank, rank in stay, 0.5, None if rank in stay else Reason.OUTRANKED)
        for place, rank in enumerate(whole, start=1)
    )
    row = RerankingRow(contender="method", candidates=candidates, **WHERE)
    return reranking_line(pool(marks, Labels(("Rome",))), row, k)


def test_five_planted_texts_of_which_two_are_among_the_first_five():
    line = judged("ppcccpppcc")
    assert (line["poison_hit"], line["poison_recall"]) == (True, 0.4)


def test_clean_recall_is_of_the_nearest_clean_passages_and_planted_texts_take_places():
    assert judged("ppccc", k=2)["clean_recall"] == 0.0
    assert judged("ppccc", 3, 4, k=2)["clean_recall"] == 1.0


def test_ndcg_counts_right_passages_by_their_place():
    assert ndcg([1, 2, 3], frozenset({2}), 3) == pytest.approx(0.63092975)
    assert ndcg([1, 2, 3], frozenset({1, 3}), 3) == pytest.approx(1.5 / 1.63092975)
    assert ndcg([1], frozenset(), 3) is None


def test_an_order_that_moves_down_what_is_similar_is_told_from_one_that_sees_more():
    def measured(*order: int) -> tuple[float | None, float | None]:
        line = judged("pcpcc", *order)
        return line["apart"], line["in_order"]

    assert measured(1, 2, 3, 4, 5) == (pytest.approx(1 / 6), 1.0)
    assert measured(5, 4, 3, 2, 1) == (pytest.approx(5 / 6), -1.0)  # similarity turned round
    assert measured(2, 4, 5, 1, 3) == (1.0, 1.0)
    clean = judged("ccc", 3, 1, 2)
    assert (clean["apart"], clean["in_order"]) == (None, -0.5)


@given(st.text("pcr", min_size=1, max_size=12), st.integers(1, 6), st.randoms())
def test_measures_stay_within_their_limits(marks, k, random):
    order = list(range(1, len(marks) + 1))
    random.shuffle(order)
    line = judged(marks, *order, k=k, kept=random.randint(0, min(k, len(marks))))
    shares = ("poison_recall", "clean_recall", "apart", "ndcg")
    assert all(line.get(name) is None or 0.0 <= line[name] <= 1.0 + 1e-12 for name in shares)
    assert line["in_order"] is None or -1.0 <= line["in_order"] <= 1.0
    assert ("poison_hit" in line) == ("p" in marks)


@given(st.text("cr", min_size=1, max_size=12), st.integers(1, 6))
def test_the_undefended_order_of_clean_passages_loses_nothing(marks, k):
    assert judged(marks, k=k)["clean_recall"] == 1.0


def test_answers_are_scored_by_whole_words_and_errors_have_no_scores():
    asked = pool("c", Labels(("Paris",), target="Lyon"))
    method = behind("radar", "none")
    row = {"contender": method.name, **WHERE}
    for answer, correct, fooled in (
        ("Paris or Lyon", True, True), ("Paris", True, False), ("Lyons", False, False),
        (None, False, False),
    ):  # fmt: skip
        line = answer_line(asked, GuardedRow(answer=answer, **row), method)
        assert (line["contender"], line["correct"], line["fooled"]) == ("none", correct, fooled)
    failed = answer_line(asked, GuardedRow(error="ModelError: no", **row), method)
    assert failed["error"] == "ModelError: no" and "correct" not in failed
