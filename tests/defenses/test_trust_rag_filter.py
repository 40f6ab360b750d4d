"""TrustRAG's filter as a retrieval defence: the same rules as the defence, on candidates."""

import math

from hypothesis import example, given
from hypothesis import strategies as st

from radarstream.defenses.orchestration.signals import Usual
from radarstream.defenses.orchestration.strategist import RHO
from radarstream.defenses.protocol import Embed
from radarstream.defenses.trust_rag import TrustRag, TrustRagFilter
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.orchestration import TrustragPlan
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool, make_snapshot
from tests.driving import Script, run

TEXTS = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta", "iota kappa")


def kept(reranking: Reranking) -> list[int]:
    return [candidate.found_rank for candidate in reranking.kept]


def dropped(reranking: Reranking) -> set[int]:
    return {c.found_rank for c in reranking.candidates if c.reason is Reason.SUSPECT}


def test_who_is_judged():
    script = Script()
    found = run(TrustRagFilter().rerank(make_pool(TEXTS)), script)
    assert kept(found) == [1, 2, 3, 4, 5]
    assert script.asked(Embed) == []
    plan, rules = TrustragPlan(rouge_threshold=RHO["paper"]), TrustRagFilter()
    assert rules.similarity_threshold == plan.similarity_threshold
    assert rules.overlap_threshold == plan.rouge_threshold
    assert TrustragPlan().rouge_threshold == RHO["corrected"] == Usual().overlap
    # Of six candidates three are judged; one of them stays, and nobody else.
    texts = ("a b c d", "a b c e", "a b c f", "x", "y", "z")
    script = Script(embedding=lambda text: (1.0, 0.1 * len(text)))
    found = run(TrustRagFilter(multiple=1).rerank(make_pool(texts, keep=3)), script)
    assert len(kept(found)) == 3 - len(dropped(found)) < 3
    assert {c.reason for c in found.candidates if c.found_rank > 3} == {Reason.OUTRANKED}


@given(
    st.lists(st.sampled_from(["a b c", "a b d", "e f g", "h i", "a b c d"]), max_size=8),
    st.sampled_from(["original", "ado_alg1"]),
    st.booleans(),
    st.sampled_from(["abstain", "all_documents"]),
)
@example(["a", "b c", "d e f"], "original", False, "all_documents")
@example(["a", "b c", "d e f"], "original", False, "abstain")
def test_it_drops_what_the_defence_drops(texts: list[str], mode: str, gate: bool, on_empty: str):
    """One filter: in the order of similarity, both judge alike."""

    def embedding(text: str) -> tuple[float, float]:
        if len(texts) == 3:  # two tight clusters
            return (1.0, 0.0) if text[0] in "ab" else (0.0, 1.0)
        return math.cos(len(text)), math.sin(len(text) * 2.0)

    options = {"mode": mode, "overlap_gate": gate, "on_empty": on_empty}
    distinct = [f"{text} {'.' * place}" for place, text in enumerate(texts)]
    pool = make_pool(distinct, keep=99)
    found = run(TrustRagFilter(**options).rerank(pool), Script(embedding=embedding))
    snapshot = make_snapshot(distinct)
    evidence = Evidence(snapshot.query, snapshot.observed_at, pool.documents)
    verdict, _ = run(TrustRag(**options).defend(evidence, None), Script(embedding=embedding))
    assert kept(found) == list(verdict.kept_ranks)
