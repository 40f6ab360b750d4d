"""What every registered retrieval defence promises, whatever its method."""

import copy
import math
import pickle
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from radarstream.defenses.protocol import (
    Complete,
    LogProbs,
    LogProbsAll,
    Request,
    RetrievalDefense,
    Signal,
)
from radarstream.defenses.registry import RERANKERS, build_reranker
from radarstream.lab.insights import (
    GRADIENTS,
    SURROGATE,
    AttentionQuery,
    Insights,
    ProbeQuery,
    SalienceQuery,
    TokenSalience,
)
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.retrieval import CandidatePool, JudgedCandidate, Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Script, run
from tests.pools import LIE, POOLS, TRUTH, VARIANTS, Variant, gradients, saliences, shown, world

ONLY_ORDERS = {"none", "prog_rank", "grada"}  # the others may drop what they take for planted
READS_ALONE = {"gmtp"}  # judges a candidate without others
DRAWS = {"dp_rag"}  # noise decides, on a single candidate as well
NEEDED: dict[type, set[str]] = {
    LogProbs: {Signal.TOKEN_PROBABILITIES}, LogProbsAll: {Signal.TOKEN_PROBABILITIES},
}  # fmt: skip


def of(names: Collection[str]) -> pytest.MarkDecorator:
    """Only these methods, with all their variants."""
    chosen = [variant for variant in VARIANTS if variant[0] in names]
    return pytest.mark.parametrize("variant", chosen, ids=shown)


@pytest.fixture(params=sorted(RERANKERS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=VARIANTS, ids=shown)
def variant(request: pytest.FixtureRequest) -> Variant:
    return request.param


@pytest.fixture
def reranker(variant: Variant) -> RetrievalDefense:
    return build_reranker(*variant)


def rerank(reranker: RetrievalDefense, pool: CandidatePool, script: Script | None = None):
    return run(reranker.rerank(pool), script or world())


def reordered(pool: CandidatePool, order: list[int]) -> CandidatePool:
    documents = tuple(pool.documents[place] for place in order)
    similarities = tuple(pool.similarities[place] for place in order)
    return replace(pool, documents=documents, similarities=similarities)


def content(pool: CandidatePool, reranking: Reranking) -> list[tuple[Any, ...]]:
    """What was found, without the names of the candidates."""
    texts = {document.rank: document.text for document in pool.documents}
    return [
        (texts[c.found_rank], c.kept, c.similarity, c.reason, c.score, c.penalty)
        for c in reranking.candidates
    ]


def everything() -> str:
    """What every variant makes of every pool."""
    built = [build_reranker(*variant) for variant in VARIANTS]
    return "\n".join(repr([rerank(one, pool) for pool in POOLS]) for one in built)


def test_neither_order_nor_names_of_equal_inputs_decide(reranker: RetrievalDefense):
    copied = pickle.loads(pickle.dumps(reranker))
    assert copied == reranker
    for pool in POOLS:
        first, second, before = world(), world(), copy.deepcopy(pool)
        assert rerank(reranker, pool, first) == rerank(copied, pool, second)
        assert first.requests == second.requests
        assert (pool, reranker) == (before, copied)
    for pool in POOLS:
        script, again = world(), world()
        found = rerank(reranker, pool, script)
        order = np.random.default_rng(3).permutation(len(pool.documents)).tolist()
        assert rerank(reranker, reordered(pool, order), again) == found
        assert again.requests == script.requests
    # Candidates are judged alike under other ranks, also under ranks that sort the other way.
    for pool in POOLS:
        names = {document.rank: 99 - document.rank for document in pool.documents}
        documents = tuple(replace(d, rank=names[d.rank]) for d in pool.documents)
        renamed = replace(pool, documents=documents)
        found, again = rerank(reranker, pool), rerank(reranker, renamed)
        assert content(renamed, again) == content(pool, found)


def test_a_reranking_is_well_formed(variant: Variant, reranker: RetrievalDefense):
    for pool in POOLS:
        found = rerank(reranker, pool)
        assert isinstance(found, Reranking)
        assert found.method == variant[0]
        ranks = [document.rank for document in pool.documents]
        assert [candidate.rank for candidate in found.candidates] == sorted(ranks)
        assert sorted(candidate.found_rank for candidate in found.candidates) == ranks
        assert len(found.kept) <= pool.keep
        assert found.candidates[: len(found.kept)] == found.kept
        similar = {d.rank: s for d, s in zip(pool.documents, pool.similarities, strict=True)}
        for candidate in found.candidates:
            assert candidate.similarity == similar[candidate.found_rank]
            assert (candidate.reason is None) == candidate.kept
            numbers = [n for n in (candidate.score, candidate.penalty) if n is not None]
            assert np.isfinite(numbers).all()


@of(ONLY_ORDERS)
def test_what_only_orders_drops_no_more_than_it_must(reranker: RetrievalDefense):
    for pool in POOLS:
        found = rerank(reranker, pool)
        assert len(found.kept) == min(pool.keep, len(pool.documents))
        assert {c.reason for c in found.candidates} <= {None, Reason.OUTRANKED}
        assert len(rerank(reranker, replace(pool, keep=99)).kept) == len(pool.documents)


def test_no_candidates_and_hostile_texts(reranker: RetrievalDefense):
    script = world()
    assert rerank(reranker, make_pool([]), script).candidates == ()
    assert script.requests == []
    texts = ["{0} %s", "</document>\x1b[2J", "\x00", "[YES] Question: ?", "a" * 9_000, "\ud800"]
    found = rerank(reranker, make_pool(texts, question="{y}?"))
    assert len(found.candidates) == len(texts)


@of(RERANKERS.keys() - READS_ALONE - DRAWS)
def test_one_candidate_stays_unread(variant: Variant, reranker: RetrievalDefense):
    for text in (LIE, TRUTH, ""):
        script = world()
        found = rerank(reranker, make_pool([text]), script)
        assert found == Reranking(variant[0], (JudgedCandidate(1, 1, True, 0.5),))
        assert script.requests == []


@of(READS_ALONE)
def test_one_candidate_is_judged_by_itself(reranker: RetrievalDefense):
    assert rerank(reranker, make_pool([TRUTH])).candidates[0].kept
    assert not rerank(reranker, make_pool([""])).candidates[0].kept


@of(DRAWS)
def test_of_noise_no_candidate_is_sure_to_stay(variant: Variant):
    name, options = variant
    drawn = [
        rerank(build_reranker(name, {**options, "seed": seed}), make_pool([TRUTH], keep=1))
        for seed in range(40)
    ]
    assert {len(found.kept) for found in drawn} == {0, 1}
    assert all(found.candidates[0].found_rank == 1 for found in drawn)


def asked_by(reranker: RetrievalDefense) -> list[Request]:
    """What it asks about all pools, singly."""
    script = world()
    for pool in POOLS:
        rerank(reranker, pool, script)
    return script.singles()


def needed_for(request: Request) -> set[str]:
    if isinstance(request, Insights):
        return {SURROGATE if request.surrogate else query.model for query in request.queries}
    return NEEDED.get(type(request), set())


def test_needs_are_honest(reranker: RetrievalDefense):
    """What is announced is asked, and nothing else; nothing that is asked counts as an answer."""
    asked = asked_by(reranker)
    assert set().union(*map(needed_for, asked)) == reranker.needs
    assert not any(request.final for request in asked if isinstance(request, Complete))


def test_what_networks_are_asked_depends_on_question_and_passage_alone(reranker: RetrievalDefense):
    """No matter who else is in the pool: answers can be cached, and batches formed at will."""
    pool = POOLS[4]
    small = replace(pool, documents=pool.documents[:5], similarities=pool.similarities[:5])
    seen = []
    for candidates in (pool, small):
        script = world()
        rerank(reranker, candidates, script)
        asked = [query for request in script.asked(Insights) for query in request.queries]
        seen.append({query for query in asked if not isinstance(query, AttentionQuery)})
    assert seen[1] <= seen[0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@of({name for name in RERANKERS if GRADIENTS in build_reranker(name).needs})
def test_gradients_that_fail_cost_their_candidate_alone(reranker: RetrievalDefense, bad: float):
    """It comes last; the others are judged as they are without it."""
    pool, broken = make_pool([TRUTH, f"{TRUTH}!", "Oslo. Why?"], keep=9), "Oslo. Why?"

    def failing(query: ProbeQuery) -> np.ndarray:
        rows = gradients(query)
        return np.full_like(rows, bad) if query.passage == broken else rows

    def failing_tokens(query: SalienceQuery) -> tuple[TokenSalience, ...]:
        found = saliences(query)
        return (replace(found[0], length=bad), *found[1:]) if query.passage == broken else found

    well = {c.found_rank: c for c in rerank(reranker, pool).candidates}
    found = rerank(reranker, pool, world(gradients=failing, saliences=failing_tokens))
    assert found.candidates[-1].found_rank == 3
    for candidate in found.candidates[:-1]:
        assert candidate.penalty == well[candidate.found_rank].penalty
        assert candidate.score == well[candidate.found_rank].score
        assert candidate.kept


@pytest.mark.parametrize(
    "changes",
    [
        {"similarities": (0.5,)}, {"similarities": (math.nan,) * 6},
        {"similarities": (math.inf,) * 6}, {"keep": 0}, {"documents": POOLS[0].documents[:1] * 6},
    ],
)  # fmt: skip
def test_a_malformed_pool_is_refused(reranker: RetrievalDefense, changes: dict[str, Any]):
    with pytest.raises(EvidenceError):
        rerank(reranker, replace(POOLS[0], **changes))
