"""ProGRank+: what similarity explains costs nothing, and what it does not explain is dropped."""

import numpy as np

from radarstream.defenses.protocol import ProbeGradients, Signal
from radarstream.defenses.retrieval.prog_rank import ProgRank
from radarstream.defenses.retrieval.prog_rank_plus import ProgRankPlus
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Script, run

SIMILARITIES = [0.95 - 0.05 * place for place in range(12)]
TEXTS = [f"text {place}" for place in range(12)]


def deviating(size: float) -> list[tuple[float, float]]:
    """Gradients whose deviations from their mean are all of this size."""
    return [(1.0, size), (1.0, -size)] * 2


def usual(place: int) -> float:
    """Deviations grow with the similarity, and scatter a little."""
    return float(np.exp(2.0 * SIMILARITIES[place] + (0.02 if place % 2 else -0.02)))


def rerank(method, unusual: dict[int, list], count: int = 12) -> tuple[Reranking, Script]:
    gradients = {TEXTS[place]: deviating(usual(place)) for place in range(count)}
    gradients |= {TEXTS[place]: rows for place, rows in unusual.items()}
    script = Script(gradients=lambda query: gradients[query.passage])
    pool = make_pool(TEXTS[:count], SIMILARITIES[:count], keep=3)
    return run(method.rerank(pool), script), script


def found_ranks(reranking: Reranking) -> list[int]:
    return [candidate.found_rank for candidate in reranking.candidates]


def suspects(reranking: Reranking) -> set[int]:
    return {c.found_rank for c in reranking.candidates if c.reason is Reason.SUSPECT}


def test_what_similarity_explains_turns_the_order_of_prog_rank_round_and_not_ours():
    theirs, _ = rerank(ProgRank(runs=4), {})
    assert found_ranks(theirs)[:3] == [12, 11, 10]
    ours, _ = rerank(ProgRankPlus(runs=4, threshold=3.0), {})
    assert found_ranks(ours) == list(range(1, 13))


def test_what_similarity_does_not_explain_is_dropped():
    found, _ = rerank(ProgRankPlus(runs=4, threshold=3.0), {1: deviating(3.0 * usual(1))})
    assert suspects(found) == {2}
    assert [c.found_rank for c in found.kept] == [1, 3, 4]
    assert found.candidates[-1].found_rank == 2 and found.candidates[-1].penalty > 3.0


def test_a_gradient_that_is_not_finite_is_dropped_and_spares_the_others():
    for count in (12, 4):
        found, _ = rerank(ProgRankPlus(runs=4, threshold=3.0), {0: [(np.nan, 1.0)] * 4}, count)
        assert suspects(found) == {1}


def test_few_candidates_make_no_line():
    found, _ = rerank(ProgRankPlus(runs=4), {0: deviating(50.0)}, 9)
    assert found_ranks(found) == list(range(1, 10))
    assert {candidate.penalty for candidate in found.candidates} == {None}


def test_a_planted_text_as_steady_as_others_of_its_similarity_passes():
    """The method sees steadiness alone: its known blind spot."""
    found, _ = rerank(ProgRankPlus(runs=4), {0: deviating(usual(0))})
    assert found.candidates[0].found_rank == 1


def test_the_probe_is_that_of_prog_rank():
    _, ours = rerank(ProgRankPlus(runs=4), {})
    _, theirs = rerank(ProgRank(runs=4), {})
    assert ours.asked(ProbeGradients) == theirs.asked(ProbeGradients)
    assert ProgRankPlus(surrogate=True).needs == {Signal.SURROGATE_GRADIENTS}
