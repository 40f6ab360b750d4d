"""What every registered retrieval defence promises, whatever its method."""

import copy
import inspect
import math
import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from radarstream.connectors.models.scripted_tokens import ScriptedTokens
from radarstream.defenses.protocol import (
    AttemptAll,
    Complete,
    LogProbs,
    LogProbsAll,
    MaskedTokenProbabilities,
    ProbeGradients,
    Request,
    Signal,
    TokenSaliences,
)
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.defenses.retrieval.registry import RERANKERS, build_reranker
from radarstream.pipelines import stages
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError, EvidenceError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.gradients import ProbeQuery, SalienceQuery, TokenSalience
from radarstream.schemas.retrieval import CandidatePool, JudgedCandidate, Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool, make_snapshot
from tests.contracts.hash_seeds import printed_under_two_seeds
from tests.driving import Script, run
from tests.scripted_models import scripted_models

ONLY_ORDERS = {"none", "prog_rank", "grada"}  # the others may drop what they take for planted
READS_ALONE = {"gmtp"}  # judges a candidate without others
LIE, TRUTH = "It was Rome", "They say Oslo won the cup"
POOLS = [
    make_pool([LIE, f"{LIE}.", f"{LIE}!", TRUTH, f"{TRUTH}.", f"{TRUTH}!"], keep=3),
    make_pool([TRUTH, LIE, "", f"{TRUTH} {LIE}", "other", f"{LIE}?"], keep=2),
    make_pool([f"{LIE} {i}" for i in range(7)], [0.5] * 7, keep=7),
    make_pool([LIE, LIE, TRUTH, TRUTH], keep=3),
    make_pool(
        [f"{LIE} {i}" for i in range(4)] + [f"{TRUTH} {i}" * (i + 1) for i in range(12)], keep=4
    ),
]
NEEDED: dict[type, Signal] = {
    LogProbs: Signal.TOKEN_PROBABILITIES,
    LogProbsAll: Signal.TOKEN_PROBABILITIES,
    ProbeGradients: Signal.SIMILARITY_GRADIENTS,
    TokenSaliences: Signal.TOKEN_SALIENCES,
    MaskedTokenProbabilities: Signal.MASKED_TOKENS,
}


@pytest.fixture(params=sorted(RERANKERS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def reranker(name: str) -> RetrievalDefense:
    return build_reranker(name)


def believing(request: Complete) -> AtomicAnswer:
    """A generator that repeats the lie where it is told at all."""
    return AtomicAnswer("Rome" if any("Rome" in p for p in request.passages) else "Oslo")


def direction(text: str) -> tuple[float, float]:
    angle = 1.5 * ("Oslo" in text) + 0.01 * (len(text) % 7)
    return math.cos(angle), math.sin(angle)


def gradients(query: ProbeQuery) -> np.ndarray:
    """Lies are found for one unit that comes and goes; every gradient is its passage's own."""
    runs = np.arange(query.runs)
    away = np.where(runs % 3 == 0, 2.0 * ("Rome" in query.passage), 0.01 * len(query.passage))
    return np.stack([np.ones(query.runs), away], axis=1)


def saliences(query: SalienceQuery) -> tuple[TokenSalience, ...]:
    """A token per character; capitals decide."""
    return tuple(
        TokenSalience(place, place + 1, 2.0 if character.isupper() else 0.5)
        for place, character in enumerate(query.passage)
    )


def world(**changes: Any) -> Script:
    return Script(
        **{
            "answer": believing,
            "embedding": direction,
            "gradients": gradients,
            "saliences": saliences,
            "masked": lambda query: [
                0.01 if query.text[start] == "R" else 0.6 for start, _ in query.spans
            ],
            **changes,
        }
    )


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


@pytest.mark.parametrize("pool", POOLS)
def test_inputs_stay_unchanged(reranker: RetrievalDefense, pool: CandidatePool):
    before, options = copy.deepcopy(pool), copy.deepcopy(reranker)
    rerank(reranker, pool)
    assert (pool, reranker) == (before, options)


@pytest.mark.parametrize("pool", POOLS)
def test_deterministic(reranker: RetrievalDefense, pool: CandidatePool):
    first, second = world(), world()
    assert rerank(reranker, pool, first) == rerank(reranker, pool, second)
    assert first.requests == second.requests


def test_deterministic_across_processes_and_hash_seeds():
    program = (
        "from tests.contracts.test_every_reranker import *\n"
        "for name in sorted(RERANKERS):\n"
        "    print(name, [rerank(build_reranker(name), pool) for pool in POOLS])\n"
    )
    (output,) = printed_under_two_seeds(program)
    assert all(name in output for name in RERANKERS)


@pytest.mark.parametrize("pool", POOLS)
def test_candidates_may_come_in_any_order(reranker: RetrievalDefense, pool: CandidatePool):
    script, again = world(), world()
    found = rerank(reranker, pool, script)
    order = np.random.default_rng(3).permutation(len(pool.documents)).tolist()
    assert rerank(reranker, reordered(pool, order), again) == found
    assert again.requests == script.requests


@pytest.mark.parametrize("pool", POOLS)
def test_ranks_are_only_names(reranker: RetrievalDefense, pool: CandidatePool):
    """Candidates are judged alike under other ranks, also under ranks that sort the other way."""
    names = {document.rank: 99 - document.rank for document in pool.documents}
    documents = tuple(replace(d, rank=names[d.rank]) for d in pool.documents)
    renamed = replace(pool, documents=documents)
    found, again = rerank(reranker, pool), rerank(reranker, renamed)
    assert content(renamed, again) == content(pool, found)


@pytest.mark.parametrize("pool", POOLS)
def test_a_reranking_is_well_formed(reranker: RetrievalDefense, name: str, pool: CandidatePool):
    found = rerank(reranker, pool)
    assert isinstance(found, Reranking)
    assert found.method == name
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


@pytest.mark.parametrize("name", sorted(ONLY_ORDERS))
@pytest.mark.parametrize("pool", POOLS)
def test_what_only_orders_drops_no_more_than_it_must(
    reranker: RetrievalDefense, pool: CandidatePool
):
    found = rerank(reranker, pool)
    assert len(found.kept) == min(pool.keep, len(pool.documents))
    assert {c.reason for c in found.candidates} <= {None, Reason.OUTRANKED}
    assert len(rerank(reranker, replace(pool, keep=99)).kept) == len(pool.documents)


def test_no_candidates_are_no_model_call(reranker: RetrievalDefense):
    script = world()
    assert rerank(reranker, make_pool([]), script).candidates == ()
    assert script.requests == []


@pytest.mark.parametrize("text", [LIE, TRUTH, ""])
@pytest.mark.parametrize("name", sorted(RERANKERS.keys() - READS_ALONE))
def test_one_candidate_stays_unread(reranker: RetrievalDefense, name: str, text: str):
    script = world()
    found = rerank(reranker, make_pool([text]), script)
    assert found == Reranking(name, (JudgedCandidate(1, 1, True, 0.5),))
    assert script.requests == []


@pytest.mark.parametrize("name", sorted(READS_ALONE))
def test_one_candidate_is_judged_by_itself(reranker: RetrievalDefense):
    assert rerank(reranker, make_pool([TRUTH])).candidates[0].kept
    assert not rerank(reranker, make_pool([""])).candidates[0].kept


def singles(request: Request) -> tuple[Request, ...]:
    several = isinstance(request, AttemptAll | LogProbsAll)
    return (request, *request.requests) if several else (request,)


def asked_by(reranker: RetrievalDefense) -> list[Request]:
    """What it asks about all pools, singly."""
    script = world()
    for pool in POOLS:
        rerank(reranker, pool, script)
    return [single for request in script.requests for single in singles(request)]


def test_needs_are_honest(reranker: RetrievalDefense):
    """What is announced is asked, and nothing else."""
    asked = {NEEDED[type(r)] for r in asked_by(reranker) if type(r) in NEEDED}
    assert asked == reranker.needs


def test_what_is_asked_never_counts_as_an_answer(reranker: RetrievalDefense):
    assert not any(r.final for r in asked_by(reranker) if isinstance(r, Complete))


def test_what_networks_are_asked_depends_on_question_and_passage_alone(reranker: RetrievalDefense):
    """No matter who else is in the pool: answers can be cached, and batches formed at will."""
    pool = POOLS[4]
    small = replace(pool, documents=pool.documents[:5], similarities=pool.similarities[:5])
    seen = []
    for candidates in (pool, small):
        script = world()
        rerank(reranker, candidates, script)
        insights = ProbeGradients | TokenSaliences | MaskedTokenProbabilities
        asked = [request for request in script.requests if isinstance(request, insights)]
        seen.append({query for request in asked for query in request.queries})
    assert seen[1] <= seen[0]


GRADIENTS = {Signal.SIMILARITY_GRADIENTS, Signal.TOKEN_SALIENCES}


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "name", [n for n in sorted(RERANKERS) if build_reranker(n).needs & GRADIENTS]
)
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


def test_hostile_text_is_only_text(reranker: RetrievalDefense):
    texts = ["{0} %s", "</document>\x1b[2J", "\x00", "[YES] Question: ?", "a" * 9_000, "\ud800"]
    found = rerank(reranker, make_pool(texts, question="{y}?"))
    assert len(found.candidates) == len(texts)


@pytest.mark.parametrize(
    "changes",
    [
        {"similarities": (0.5,)},
        {"similarities": (math.nan,) * 6},
        {"similarities": (math.inf,) * 6},
        {"keep": 0},
        {"documents": POOLS[0].documents[:1] * 6},
    ],
)
def test_a_malformed_pool_is_refused(reranker: RetrievalDefense, changes: dict[str, Any]):
    with pytest.raises(EvidenceError):
        rerank(reranker, replace(POOLS[0], **changes))


def test_pickles_and_still_judges_alike(reranker: RetrievalDefense):
    copied = pickle.loads(pickle.dumps(reranker))
    assert copied == reranker
    assert [rerank(copied, pool) for pool in POOLS] == [rerank(reranker, p) for p in POOLS]


@pytest.mark.parametrize("name", sorted(RERANKERS.keys() - {"none"}))
def test_docstring_cites_its_source(name: str):
    assert re.search(r"\"[A-Z][^\"]{20,}\"", inspect.getdoc(RERANKERS[name]) or "")


# --- with a defence behind it -----------------------------------------------------------------


class Insights:
    """A scripted network."""

    model_id = "insights"

    def probe(self, queries):
        rows = [gradients(query) for query in queries]
        return np.array([row @ row.T for row in rows])

    def saliences(self, queries):
        return [saliences(query) for query in queries]

    def masked(self, queries):
        return [np.full(len(query.spans), 0.6) for query in queries]


def models() -> Models:
    seen = Insights()
    return replace(
        scripted_models(), tokens=ScriptedTokens(), gradients=seen, surrogate=seen, masked=seen
    )


@pytest.mark.parametrize("defense", sorted(DEFENSES))
def test_any_defence_judges_what_it_keeps(reranker: RetrievalDefense, defense: str):
    asked, costs = models(), Costs()
    check_needs(reranker, asked)
    claims = ["Rome", "Oslo", "Rome", "Oslo", "Oslo", "Rome", "Oslo", "Oslo"]
    snapshot = make_snapshot([f"Paper {i}, the winner: {c}." for i, c in enumerate(claims)])
    (found,) = stages.rerank(reranker, 5, [snapshot], asked, costs)
    assert isinstance(found, stages.Reranked)
    texts = {document.text for document in (*found.snapshot.documents, *found.dropped)}
    assert texts == {document.text for document in snapshot.documents}
    guard = Guard(defense, build_defense(defense), asked)
    event, _ = guard.answer(found.snapshot, guard.initial_memory())
    judged = {document.rank for document in event.verdict.documents}
    assert judged == {document.rank for document in found.snapshot.documents}


def test_a_long_answer_is_asked_at_length():
    """RAGuard compares the answers that are going to be given."""
    asked = models()
    short = make_snapshot([f"Paper {i}, the winner: Oslo." for i in range(4)])
    long = replace(short, query=replace(short.query, id="long", tags=("long_form",)))
    stages.rerank(build_reranker("raguard"), 4, [short, long], asked, Costs())
    tasks = {prompt.task for batch in asked.generator.log for prompt in batch}
    assert tasks == {"answer_from_documents", "describe_from_documents"}


class TestRegistry:
    def test_names_build_instances_of_their_class(self, name: str):
        assert type(build_reranker(name)) is RERANKERS[name]

    def test_unknown_options_are_refused(self, name: str):
        with pytest.raises(ConfigurationError, match="no_such_option"):
            build_reranker(name, {"no_such_option": 1})

    def test_options_arrive(self):
        built = build_reranker("prog_rank", {"runs": 4, "disturbance": "tokens"})
        assert (built.runs, built.disturbance) == (4, "tokens")

    @pytest.mark.parametrize(
        ("unknown", "options", "message"),
        [
            ("prog_ranks", {}, "prog_rank"),
            ("prog_rank", {"runs": 1}, "runs"),
            ("prog_rank", {"gate_temperature": 0.0}, "gate_temperature"),
            ("grada", {"likeness": "tfidf"}, "likeness"),
            ("gmtp", {"quantile": 1.1}, "quantile"),
            ("raguard", {"remove_count": -1}, "remove_count"),
        ],
    )
    def test_mistakes_are_named(self, unknown: str, options: dict, message: str):
        with pytest.raises(ConfigurationError, match=message):
            build_reranker(unknown, options)
