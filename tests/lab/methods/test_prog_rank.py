"""ProGRank: defended scores, the bounded pool, what it asks, and how relevance is lost."""

import numpy as np
import pytest

from radarstream.lab.insights import GRADIENTS, SURROGATE, Insights
from radarstream.lab.methods.prog_rank import ProgRank
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import QUESTION, make_pool
from tests.driving import Script, run

SIMILARITIES = [0.82, 0.75, 0.70, 0.64, 0.55, 0.51, 0.48, 0.40, 0.33]
TEXTS = [f"text {place}" for place in range(9)]
STEADY = [(1.0, 0.0)] * 4
ON_OFF = [(1.0, 0.0)] * 3 + [(0.0, 1.0)]
MILD = [(1.0, 0.1), (1.0, -0.1)] * 2


def rerank(gradients: dict[str, list], *, keep: int = 3, **options) -> tuple[Reranking, Script]:
    script = Script(gradients=lambda query: gradients.get(query.passage, STEADY))
    pool = make_pool(TEXTS, SIMILARITIES, keep=keep)
    return run(ProgRank(runs=4, **options).rerank(pool), script), script


def found_ranks(reranking: Reranking) -> list[int]:
    return [candidate.found_rank for candidate in reranking.candidates]


def test_golden_scores():
    found, _ = rerank({"text 0": ON_OFF, "text 1": MILD})
    scores = {candidate.found_rank: candidate.score for candidate in found.candidates}
    assert scores[1] == pytest.approx(-2.226935, abs=1e-6)
    assert scores[2] == pytest.approx(0.463822, abs=1e-6)
    assert [scores[rank] for rank in range(3, 10)] == pytest.approx(SIMILARITIES[2:])
    assert found_ranks(found) == [3, 4, 5, 6, 7, 2, 8, 9, 1]
    assert [c.reason for c in found.candidates] == [None] * 3 + [Reason.OUTRANKED] * 6


def test_steady_gradients_leave_the_order():
    found, _ = rerank({})
    assert found_ranks(found) == list(range(1, 10))
    assert {candidate.penalty for candidate in found.candidates} == {0.0}


def test_a_gradient_that_is_not_finite_costs_the_most():
    found, _ = rerank({"text 0": [(np.nan, 1.0)] * 4})
    last = found.candidates[-1]
    assert last.found_rank == 1
    assert last.penalty == pytest.approx(0.539915 * (6.0 - np.log(1e-8)), abs=1e-5)


class TestBoundedPool:
    def test_only_the_nearest_are_tested(self):
        """mu is .66: three candidates reach it."""
        found, script = rerank({"text 0": ON_OFF}, margin=0.0)
        assert [query.passage for query in script.asked(Insights)[0].queries] == TEXTS[:3]
        assert found_ranks(found) == [2, 3, 1, 4, 5, 6, 7, 8, 9]
        assert [c.penalty is None for c in found.candidates] == [False] * 3 + [True] * 6
        _, script = rerank({}, margin=0.12)
        assert len(script.asked(Insights)[0].queries) == 5

    def test_what_is_not_tested_only_fills_up(self):
        """Even with a lower score, the tested ones stand first: none gains by not being tested."""
        found, _ = rerank({"text 0": ON_OFF}, margin=0.0, keep=5)
        assert [c.found_rank for c in found.kept] == [2, 3, 1, 4, 5]

    def test_equal_similarities_are_all_tested(self):
        script = Script()
        run(ProgRank(margin=0.0).rerank(make_pool(TEXTS, [0.5] * 9)), script)
        assert len(script.asked(Insights)[0].queries) == 9


class TestWhatIsAsked:
    def test_the_options_arrive(self):
        options = {"layer": 1, "disturbance": "tokens", "token_dropout": 0.3, "seed": 8}
        _, script = rerank({}, **options)
        (request,) = script.asked(Insights)
        query = request.queries[0]
        assert not request.surrogate
        assert (query.question, query.passage, query.runs) == (QUESTION, "text 0", 4)
        assert (query.layer, query.disturbance, query.token_dropout, query.seed) == (
            1,
            "tokens",
            0.3,
            8,
        )

    def test_another_encoder(self):
        _, script = rerank({}, surrogate=True)
        assert script.asked(Insights)[0].surrogate
        assert ProgRank(surrogate=True).needs == {SURROGATE}
        assert ProgRank().needs == {GRADIENTS}

    def test_equal_passages_are_asked_once(self):
        script = Script()
        found = run(ProgRank().rerank(make_pool(["same", "same", "other"])), script)
        assert [q.passage for q in script.asked(Insights)[0].queries] == ["same", "other"]
        assert len(found.candidates) == 3


class TestWeaknesses:
    def test_the_gate_is_almost_constant(self):
        """The least similar of the candidates keeps three quarters of the nearest one's penalty."""
        found, _ = rerank(dict.fromkeys(TEXTS, ON_OFF))
        paid = {candidate.found_rank: candidate.penalty for candidate in found.candidates}
        assert paid[9] / paid[1] == pytest.approx(0.774642, abs=1e-6)

    def test_the_penalty_swamps_relevance(self):
        """A steady passage about something else is put before a relevant one that is unsteady."""
        pool = make_pool(["relevant", "beside the point"], [0.9, -0.5], keep=1)
        gradients = {"relevant": ON_OFF, "beside the point": STEADY}
        script = Script(gradients=lambda query: gradients[query.passage])
        found = run(ProgRank(runs=4).rerank(pool), script)
        assert [candidate.found_rank for candidate in found.kept] == [2]

    def test_a_lower_temperature_spares_the_distant(self):
        """What is below mu then keeps its similarity, steady or not."""
        found, _ = rerank(dict.fromkeys(TEXTS, ON_OFF), gate_temperature=0.01)
        paid = {candidate.found_rank: candidate.penalty for candidate in found.candidates}
        assert paid[9] < 1e-6 < paid[1]

    def test_a_planted_text_with_steady_gradients_passes(self):
        """An attacker who makes his text steady is not seen: the method tests nothing else."""
        found, _ = rerank(dict.fromkeys(TEXTS[1:], MILD))
        assert found.kept[0].found_rank == 1
