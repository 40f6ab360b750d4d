"""The attention-variance filter: who dominates goes, one at a time."""

from collections.abc import Sequence

import numpy as np
import pytest

from radarstream.defenses.protocol import Complete
from radarstream.lab.insights import AttentionQuery, Insights
from radarstream.lab.methods.attention_variance import AttentionVariance, most_attended
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.schemas.prompt import Task
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Script, run, saying


def weighing(**weights: float):
    """Shares by what each passage weighs, among those that are shown."""

    def shares(asked: AttentionQuery) -> Sequence[float]:
        shown = [weights[passage] for passage in asked.prompt.passages]
        return [100.0 * weight / sum(shown) if any(shown) else 0.0 for weight in shown]

    return shares


def rerank(script: Script | None = None, *, keep: int = 5, **weights: float) -> Reranking:
    return judged(AttentionVariance(), script, keep=keep, **weights)


def judged(
    method: AttentionVariance, script: Script | None = None, *, keep: int = 5, **weights: float
) -> Reranking:
    script = script or Script()
    script.attention = weighing(**weights)
    return run(method.rerank(make_pool(list(weights), keep=keep)), script)


def read(script: Script) -> list[AttentionQuery]:
    return [query for request in script.asked(Insights) for query in request.queries]


def dropped(reranking: Reranking) -> set[int]:
    return {c.found_rank for c in reranking.candidates if c.reason is Reason.SUSPECT}


def test_who_dominates_goes_and_nobody_else():
    """60 % of five has variance 400; of the four others each has 25 %."""
    found = rerank(a=10, b=60, c=10, d=10, e=10)
    assert dropped(found) == {2}
    assert [c.found_rank for c in found.kept] == [1, 3, 4, 5]
    assert {c.found_rank: c.penalty for c in found.candidates} == {
        1: 25.0, 2: 60.0, 3: 25.0, 4: 25.0, 5: 25.0,
    }  # fmt: skip
    for weight, share in ((1, 20.0), (0, 0.0)):
        found = rerank(a=weight, b=weight, c=weight, d=weight, e=weight)
        assert [(c.found_rank, c.penalty) for c in found.kept] == [(n, share) for n in range(1, 6)]


@pytest.mark.parametrize(
    ("shares", "variance"),
    [
        ([20.0] * 5, 0.0),
        ([60, 10, 10, 10, 10], 400.0),
        ([28, *[8] * 9], 36.0),
        ([40, 20, 15, 15, 10], 110.0),
        ([55, 25, 10, 10], 337.5),
        ([100], 0.0),
        ([0, 0, 0], 0.0),
    ],
)
def test_golden_variances(shares: list[float], variance: float):
    """A variance that is the threshold is not too much."""
    assert most_attended(np.array(shares), variance) is None
    assert variance == 0.0 or most_attended(np.array(shares), variance - 1e-9) == 0


@pytest.mark.parametrize(
    ("count", "code", "paper"), [(5, 30.24, 34.14), (10, 25.36, 31.21), (15, 25.82, 33.12)]
)
def test_the_share_that_is_too_much_where_others_are_equal(count: int, code: float, paper: float):
    for threshold, share in ((26.2, code), (50.0, paper)):
        for above in (-0.01, 0.01):
            rest = (100.0 - share - above) / (count - 1)
            shares = np.array([share + above, *[rest] * (count - 1)])
            assert (most_attended(shares, threshold) == 0) == (above > 0.0)


@pytest.mark.parametrize(("most", "expected"), [(0, set()), (1, {1}), (2, {1, 2}), (3, {1, 2, 3})])
def test_at_most_so_many_go(most: int, expected: set[int]):
    """Each is far above those behind it; they cost no more than R + 2 looks."""
    method, script = AttentionVariance(max_corruptions=most), Script()
    found = judged(method, script, a=10_000, b=1_000, c=100, d=10, e=1)
    assert dropped(found) == expected
    assert len(read(script)) == len(script.asked(Complete)) <= most + 2


def test_one_always_stays():
    method = AttentionVariance(threshold=0.0, max_corruptions=50)
    found = judged(method, a=3, b=2, c=1)
    assert dropped(found) == {1, 2}
    assert [c.found_rank for c in found.kept] == [3]


def test_of_equal_shares_the_less_similar_goes_first():
    method = AttentionVariance(max_corruptions=1)
    assert dropped(judged(method, a=45, b=45, c=5, d=5)) == {2}
    assert dropped(judged(method, a=5, b=45, c=5, d=45)) == {4}


def test_they_are_shown_in_ascending_order_twice():
    """Least attended first; the order of the pool decides between equals."""
    script = Script()
    rerank(script, a=30, b=20, c=30, d=20)
    asked = script.asked(Complete)
    assert [request.passages for request in asked] == [
        ("a", "b", "c", "d"),
        ("b", "d", "a", "c"),
        ("b", "d", "a", "c"),
    ]
    assert {request.task for request in asked} == {Task.ANSWER_FROM_DOCUMENTS}
    assert not any(request.final for request in asked)
    assert [query.prompt for query in read(script)] == list(prompts_of(asked))


def test_the_answer_that_was_given_is_the_one_that_is_read():
    script = Script(answer=saying("first", "second", "third"))
    rerank(script, a=1, b=1)
    assert [query.answer for query in read(script)] == ["first", "second", "third"]


def test_what_is_dropped_is_not_replaced_by_what_was_not_read():
    script = Script()
    method = AttentionVariance(multiple=1)
    weights = {"a": 60.0} | dict.fromkeys("bcdefgh", 10.0)
    found = judged(method, script, **weights)
    assert len(script.asked(Complete)[0].passages) == 5
    assert [c.found_rank for c in found.kept] == [2, 3, 4, 5]
    assert [c.found_rank for c in found.candidates if c.reason is Reason.OUTRANKED] == [6, 7, 8]
    assert all(c.penalty is None for c in found.candidates if c.found_rank > 5)


def test_of_three_times_as_many_the_next_one_takes_its_place():
    weights = {"a": 60.0} | dict.fromkeys("bcdefgh", 10.0)
    found = judged(AttentionVariance(threshold=50.0), **weights)
    assert [c.found_rank for c in found.kept] == [2, 3, 4, 5, 6]


class TestWeaknesses:
    def test_two_planted_texts_share_the_attention(self):
        """Twice 20 % and eight times 7.5 %: variance 25."""
        weights = dict.fromkeys("ab", 20.0) | dict.fromkeys("cdefghij", 7.5)
        found = judged(AttentionVariance(), keep=10, **weights)
        assert dropped(found) == set()

    def test_the_only_source_of_the_truth_is_dropped(self):
        assert dropped(rerank(beside=5, truth=80, the=5, point=5, all=5)) >= {2}
