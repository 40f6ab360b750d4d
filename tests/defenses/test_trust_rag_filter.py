"""TrustRAG's filter as a retrieval defence: the same rules as the defence, on candidates."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.orchestration.signals import Usual
from radarstream.defenses.orchestration.strategist import RHO
from radarstream.defenses.protocol import Complete, Embed
from radarstream.defenses.retrieval.trust_rag import TrustRagFilter
from radarstream.defenses.trust_rag import TrustRag
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.orchestration import TrustragPlan
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool, make_snapshot
from tests.driving import Script, run

# {1, 2, 3} have mean cosine .978840, {4, 5} .8; no two texts share a word.
GOLDEN = [(1.0, 0.0), (0.98, 0.199), (0.96, 0.28), (0.0, 1.0), (-0.6, 0.8)]
TEXTS = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta", "iota kappa")


def rerank(vectors, texts: tuple[str, ...] = TEXTS, *, keep: int = 5, **options) -> Reranking:
    script = Script(embedding=dict(zip(texts, vectors, strict=True)).__getitem__)
    options.setdefault("overlap_gate", False)
    found = run(TrustRagFilter(**options).rerank(make_pool(texts, keep=keep)), script)
    assert script.asked(Complete) == []
    return found


def kept(reranking: Reranking) -> list[int]:
    return [candidate.found_rank for candidate in reranking.kept]


def dropped(reranking: Reranking) -> set[int]:
    return {c.found_rank for c in reranking.candidates if c.reason is Reason.SUSPECT}


def test_the_golden_clusters_tell_the_modes_apart():
    assert kept(rerank(GOLDEN)) == [4, 5]
    assert kept(rerank(GOLDEN, mode="ado_alg1")) == [1, 2, 3]


def test_two_tight_clusters_leave_nothing_or_all():
    angles = [math.radians(d) for d in (0, 5, 10, 90, 95)]
    vectors = [(math.cos(a), math.sin(a)) for a in angles]
    found = rerank(vectors)
    assert (kept(found), dropped(found)) == ([], {1, 2, 3, 4, 5})
    assert kept(rerank(vectors, on_empty="all_documents")) == [1, 2, 3, 4, 5]
    assert kept(rerank(vectors, mode="ado_alg1")) == [1, 2, 3, 4, 5]


def test_of_near_duplicates_the_most_similar_to_the_question_stays():
    texts = ("a b c d", "a b c e", "f g h i", "l m n o")
    vectors = [(math.cos(math.radians(d)), math.sin(math.radians(d))) for d in (0, 50, 190, 240)]
    found = rerank(vectors, texts)
    assert (kept(found), dropped(found)) == ([1, 3, 4], {2})


def test_without_near_duplicates_nothing_is_embedded():
    script = Script()
    found = run(TrustRagFilter().rerank(make_pool(TEXTS)), script)
    assert kept(found) == [1, 2, 3, 4, 5]
    assert script.asked(Embed) == []


def test_candidates_that_were_not_judged_do_not_fill_up():
    """Of six candidates three are judged; one of them stays, and nobody else."""
    texts = ("a b c d", "a b c e", "a b c f", "x", "y", "z")
    script = Script(embedding=lambda text: (1.0, 0.1 * len(text)))
    found = run(TrustRagFilter(multiple=1).rerank(make_pool(texts, keep=3)), script)
    assert len(kept(found)) == 3 - len(dropped(found)) < 3
    assert {c.reason for c in found.candidates if c.found_rank > 3} == {Reason.OUTRANKED}


def test_thresholds_are_those_of_the_paper():
    plan, rules = TrustragPlan(rouge_threshold=RHO["paper"]), TrustRagFilter()
    assert rules.similarity_threshold == plan.similarity_threshold
    assert rules.overlap_threshold == plan.rouge_threshold
    assert TrustragPlan().rouge_threshold == RHO["corrected"] == Usual().overlap


@given(
    st.lists(st.sampled_from(["a b c", "a b d", "e f g", "h i", "a b c d"]), max_size=8),
    st.sampled_from(["original", "ado_alg1"]),
    st.booleans(),
)
@settings(deadline=None)
def test_it_drops_what_the_defence_drops(texts: list[str], mode: str, gate: bool):
    """One filter: in the order of similarity, both judge alike."""

    def embedding(text: str) -> tuple[float, float]:
        return math.cos(len(text)), math.sin(len(text) * 2.0)

    options = {"mode": mode, "overlap_gate": gate}
    distinct = [f"{text} {'.' * place}" for place, text in enumerate(texts)]
    pool = make_pool(distinct, keep=99)
    found = run(TrustRagFilter(**options).rerank(pool), Script(embedding=embedding))
    snapshot = make_snapshot(distinct)
    evidence = Evidence(snapshot.query, snapshot.observed_at, pool.documents)
    verdict, _ = run(TrustRag(**options).defend(evidence, None), Script(embedding=embedding))
    assert kept(found) == list(verdict.kept_ranks)
