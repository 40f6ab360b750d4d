"""What one reranking is worth: the published figures, and the limits of every measure."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.evaluation.retrieval.rows import (
    Candidate,
    GuardedRow,
    PoolRow,
    RerankingRow,
)
from radarstream.pipelines.evaluation.retrieval.scoring import (
    LINES,
    Judged,
    answer_scores,
    ndcg,
    score_table,
    text_table,
)
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.verdict import Reason


def pool(marks: str, **more: object) -> PoolRow:
    """A pool of one candidate a letter, nearest first: p is planted, r right, c another one."""
    candidates = tuple(
        Candidate(f"d{place}", 1.0 - place / 100, mark == "p", mark == "r")
        for place, mark in enumerate(marks)
    )
    return PoolRow("hotflip", "q-0", "Who?", candidates, **{"answers": ("Rome",), **more})


def judged(marks: str, *order: int, k: int = 5, kept: int | None = None) -> Judged:
    """A pool in a new order; the first `kept` stay."""
    rest = [rank for rank in range(1, len(marks) + 1) if rank not in order]
    whole = (*order, *rest)
    return Judged(pool(marks), whole, whole[: k if kept is None else kept], k)


def row(one: Judged) -> RerankingRow:
    return RerankingRow(
        "method",
        "hotflip",
        "q-0",
        tuple(
            JudgedCandidate(
                place, rank, rank in one.kept, 0.5, None if rank in one.kept else Reason.OUTRANKED
            )
            for place, rank in enumerate(one.order, start=1)
        ),
    )


def lines(one: Judged) -> list[dict[str, Any]]:
    return score_table({one.pool.key: one.pool}, [row(one)], (), {}, one.k).to_dicts()


def test_five_planted_texts_of_which_two_are_among_the_first_five():
    exposure = judged("ppcccpppcc").exposure
    assert (exposure.hit, exposure.precision, exposure.recall) == (True, 0.4, 0.4)
    assert exposure.poison_recall == pytest.approx(0.4)
    assert exposure.f1 == pytest.approx(0.4)


def test_displacement_is_by_how_many_places_planted_texts_move_down():
    assert judged("pcccc").displacement == 0.0
    assert judged("pccp", 2, 3).displacement == pytest.approx((2 + 0) / 2)
    assert judged("ccp", 3).displacement == -2.0
    assert judged("ccc").displacement is None


def test_clean_recall_is_of_the_nearest_clean_passages_and_planted_texts_take_places():
    undefended, defended = judged("ppccc", k=2), judged("ppccc", 3, 4, k=2)
    assert undefended.nearest == defended.nearest == (3, 4)
    (line,) = lines(undefended)
    assert (line["clean_recall"], line["spared"], line["right_recall"]) == (0.0, None, None)
    (line,) = lines(defended)
    assert (line["clean_recall"], line["spared"]) == (1.0, None)


def test_ndcg_counts_right_passages_by_their_place():
    assert ndcg([1, 2, 3], frozenset({2}), 3) == pytest.approx(0.63092975)
    assert ndcg([1, 2, 3], frozenset({1, 3}), 3) == pytest.approx(1.5 / 1.63092975)
    assert ndcg([1], frozenset(), 3) is None
    lost = judged("rcr", 2, 1, k=2)
    assert lost.ndcg_lost == pytest.approx((1 - 0.63092975) / 1.63092975)


def test_an_order_that_moves_down_what_is_similar_is_told_from_one_that_sees_more():
    def measured(*order: int) -> tuple[float | None, float | None]:
        (line,) = lines(judged("pcpcc", *order))
        return line["apart"], line["in_order"]

    assert measured(1, 2, 3, 4, 5) == (pytest.approx(1 / 6), 1.0)
    assert measured(5, 4, 3, 2, 1) == (pytest.approx(5 / 6), -1.0)  # similarity turned round
    assert measured(2, 4, 5, 1, 3) == (1.0, 1.0)
    (clean,) = lines(judged("ccc", 3, 1, 2))
    assert (clean["apart"], clean["in_order"]) == (None, -0.5)


def test_texts_that_count_have_a_line_each():
    one = judged("pcrcc", 2, 3, k=2)
    frame = text_table({("hotflip", "q-0"): one.pool}, [row(one)], 2)
    found = {line["step"]: line for line in frame.to_dicts()}
    assert sorted(found) == [0, 1, 2, 3]
    assert found[0]["poison_hit"] is False and found[1]["poison_kept"] is False
    assert (found[2]["clean_kept"], found[2]["spared"], found[2]["right_kept"]) == (
        True,
        True,
        None,
    )
    assert (found[3]["clean_kept"], found[3]["spared"], found[3]["right_kept"]) == (
        True,
        None,
        True,
    )


@given(st.text("pcr", min_size=1, max_size=12), st.integers(1, 6), st.randoms())
def test_measures_stay_within_their_limits(marks, k, random):
    order = list(range(1, len(marks) + 1))
    random.shuffle(order)
    one = judged(marks, *order, k=k, kept=random.randint(0, min(k, len(marks))))
    (line,) = lines(one)
    shares = ("poison_recall", "precision", "clean_recall", "spared", "right_recall", "apart")
    assert all(line[name] is None or 0.0 <= line[name] <= 1.0 + 1e-12 for name in shares)
    assert line["ndcg"] is None or 0.0 <= line["ndcg"] <= 1.0 + 1e-12
    assert line["in_order"] is None or -1.0 <= line["in_order"] <= 1.0
    assert (line["displacement"] is None) == ("p" not in marks)
    assert -len(marks) < (line["displacement"] or 0.0) < len(marks)
    assert (line["poison_hit"] is None) == ("p" not in marks)


@given(st.text("pcr", min_size=1, max_size=12), st.integers(1, 6))
def test_the_undefended_order_loses_nothing(marks, k):
    one = judged(marks, k=k)
    (line,) = lines(one)
    assert line["displacement"] in (0.0, None)
    assert line["ndcg_lost"] in (0.0, None)
    assert line["spared"] in (1.0, None)
    if "p" not in marks:
        assert line["clean_recall"] == 1.0


@pytest.mark.parametrize(
    ("answer", "any_", "exclusive"),
    [
        ("Paris or Lyon", (True, True), (False, False)),
        ("Paris", (True, False), (True, False)),
        ("It is Lyon", (False, True), (False, True)),
        (None, (False, False), (False, False)),
        ("I don't know", (False, False), (False, False)),
    ],
)
def test_answers_by_both_definitions_and_prog_ranks(answer, any_, exclusive):
    asked = pool("c", answers=("Paris",), target="Lyon")
    found = answer_scores(asked, GuardedRow("method", "hotflip", "q-0", "radar", answer))
    assert (found["contained_correct"], found["contained_fooled"]) == any_
    assert (found["exclusive_correct"], found["exclusive_fooled"]) == exclusive


def test_errors_have_a_line_and_no_scores():
    failed = RerankingRow("method", "hotflip", "q-0", error="ModelError: no")
    silent = GuardedRow("method", "hotflip", "q-0", "radar", error="ModelError: no")
    frame = score_table({("hotflip", "q-0"): pool("pc")}, [failed], [silent], {}, 1)
    assert frame["before"].to_list() == ["alone", "radar"]
    assert list(frame.schema) == list(LINES)
    told = frame.drop("contender", "condition", "query_id", "before", "error")
    assert told.null_count().sum_horizontal().item() == told.width * 2
