"""DP-RAG: what is kept, in which order, why not, and how the noise is drawn."""

from dataclasses import replace

import numpy as np
import pytest

from radarstream.lab.kernels.private_threshold import count_probabilities
from radarstream.lab.methods.dp_rag import DpRag
from radarstream.schemas.retrieval import CandidatePool, Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Script, run

FIFTEEN = [0.72, 0.66, 0.61, 0.58, 0.55, 0.53, 0.50, 0.48, 0.47, 0.45, 0.44, 0.43, 0.42, 0.41, 0.40]


def pool_of(similarities: list[float] = FIFTEEN, keep: int = 5) -> CandidatePool:
    return make_pool([f"text {i}" for i in range(len(similarities))], similarities, keep=keep)


def rerank(pool: CandidatePool, **options) -> Reranking:
    return run(DpRag(**options).rerank(pool), Script())


def drawn(count: int) -> list[Reranking]:
    return [rerank(pool_of(), seed=seed) for seed in range(count)]


def test_without_noise_it_is_the_plain_order():
    found = rerank(pool_of(), epsilon=1e9)
    assert [c.found_rank for c in found.kept] == [1, 2, 3, 4, 5]


def test_what_is_above_the_threshold_is_the_nearest():
    """At most as many as wanted; more than those are outranked, and nothing says how near."""
    reasons = set()
    for found in drawn(200):
        assert [c.found_rank for c in found.candidates] == list(range(1, 16))
        assert len(found.kept) <= 5
        outranked = [c for c in found.dropped if c.reason is Reason.OUTRANKED]
        assert not outranked or len(found.kept) == 5
        reasons |= {c.reason for c in found.candidates}
        assert {c.score for c in found.candidates} == {None}
    assert reasons == {None, Reason.OUTRANKED, Reason.NOT_DRAWN}


def test_mean_number_kept_is_that_of_the_golden_distribution():
    """4.655, the expected number above the threshold where those beyond 5 count as 5."""
    kept = [len(found.kept) for found in drawn(1_000)]
    expected = count_probabilities(np.array(FIFTEEN), 5, 3.0) @ np.minimum(np.arange(16), 5)
    assert np.mean(kept) == pytest.approx(expected, abs=0.1)


def test_noise_differs_between_seeds_and_between_questions():
    by_seed = {len(found.kept) for found in drawn(50)}
    questions = [replace(pool_of().query, text=f"Who won cup {i}?") for i in range(50)]
    by_question = {len(rerank(replace(pool_of(), query=query)).kept) for query in questions}
    assert len(by_seed) > 2 and len(by_question) > 2


def test_similarities_beyond_the_bounds_count_as_the_bound():
    found = rerank(pool_of([5.0, 4.0, 0.1]), epsilon=1e9, low=0.0, high=1.0)
    assert len(found.kept) == 3
