"""TrustRAG's filter: which cluster goes, near duplicates, and the printed variant that does the
reverse.
"""

import math

import numpy as np
import pytest

from radarstream.defenses.protocol import Complete, Embed
from radarstream.defenses.trust_rag import TrustRag, mean_cosine
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Abstention, Reason, Verdict
from tests.builders import make_snapshot
from tests.driving import Script, run

# Golden clusters: {1, 2, 3} have mean cosine .978840, {4, 5} .8.
GOLDEN = [(1.0, 0.0), (0.98, 0.199), (0.96, 0.28), (0.0, 1.0), (-0.6, 0.8)]
# No two of them share a word; the builders' titles are dropped.
UNLIKE = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta", "iota kappa", "mu nu", "xi rho")
SUPPORTED, TIGHT, ALONE, DUPLICATE = (
    Reason.SUPPORTED, Reason.TIGHT_CLUSTER, Reason.ISOLATED, Reason.NEAR_DUPLICATE,
)  # fmt: skip


def at(*degrees: float) -> list[tuple[float, float]]:
    """Unit vectors of a plane."""
    return [(math.cos(math.radians(d)), math.sin(math.radians(d))) for d in degrees]


def documents(texts: tuple[str, ...]) -> Evidence:
    snapshot = make_snapshot(texts)
    bare = tuple(type(d)(d.rank, d.text) for d in snapshot.documents)
    return Evidence(snapshot.query, snapshot.observed_at, bare)


def judge(vectors, texts: tuple[str, ...] | None = None, **options) -> Verdict:
    """The verdict on documents with these embeddings; unlike texts unless given."""
    texts = texts or UNLIKE[: len(vectors)]
    options.setdefault("overlap_gate", False)
    script = Script(embedding=dict(zip(texts, vectors, strict=True)).__getitem__)
    return run(TrustRag(**options).defend(documents(texts), None), script)[0]


def reasons(verdict: Verdict) -> list[Reason]:
    return [d.reason for d in verdict.documents]


class TestDirection:
    """What tells the original from the algorithm printed by ADO."""

    def test_mean_cosines_of_the_golden_clusters(self):
        vectors = np.array(GOLDEN) / np.linalg.norm(GOLDEN, axis=1, keepdims=True)
        cosines = vectors @ vectors.T
        first = np.array([True, True, True, False, False])
        assert mean_cosine(cosines, first) == pytest.approx(0.978840, abs=1e-4)
        assert mean_cosine(cosines, ~first) == pytest.approx(0.8)

    @pytest.mark.parametrize(
        ("vectors", "original", "printed"),
        [
            pytest.param(
                GOLDEN, [TIGHT] * 3 + [SUPPORTED] * 2, [SUPPORTED] * 3 + [ALONE] * 2, id="golden"
            ),
            pytest.param(at(0, 5, 10, 90, 95), [TIGHT] * 5, [SUPPORTED] * 5, id="two tight"),
            pytest.param(
                at(0, 50, 180, 230), [SUPPORTED] * 4, [SUPPORTED] * 2 + [ALONE] * 2, id="two loose"
            ),
        ],
    )
    def test_one_drops_tight_clusters_and_the_other_keeps_them(self, vectors, original, printed):
        assert reasons(judge(vectors)) == original
        assert reasons(judge(vectors, mode="ado_alg1")) == printed


class TestClusters:
    def test_the_threshold_itself_is_tight_for_one_cluster(self):
        for first, second, dropped in [
            (0.5, 0.5, {3, 4}),  # equal: the better ranked cluster stays
            (0.5, 0.25, {1, 2}),
            (0.25, 0.5, {3, 4}),
            (0.625, 0.5, {1, 2}),
            (0.625, 0.625, {1, 2, 3, 4}),
            (0.375, 0.25, set()),
        ]:
            cosines = np.eye(4)
            cosines[[0, 1], [1, 0]], cosines[[2, 3], [3, 2]] = first, second
            rules = TrustRag(similarity_threshold=0.5)
            judged = rules.drop_tight(cosines, np.array([False, False, True, True]))
            assert {rank for rank, reason in enumerate(judged, 1) if reason is TIGHT} == dropped

    def test_a_document_alone(self):
        """It stays beside a tight cluster, and goes beside a loose one."""
        for degrees, alone, expected in [
            ((0, 5, 170, 10), 2, [TIGHT, TIGHT, SUPPORTED, TIGHT]),
            ((170, 0, 5, 10), 0, [SUPPORTED, TIGHT, TIGHT, TIGHT]),
            ((0, 2, 20, 1), 2, [TIGHT] * 4),  # it is like the first of the tight ones
            ((0, 60, 180, 30), 2, [SUPPORTED, SUPPORTED, ALONE, SUPPORTED]),
            ((180, 0, 60, 30), 0, [ALONE, SUPPORTED, SUPPORTED, SUPPORTED]),
        ]:
            vectors = np.array(at(*degrees))
            split = np.arange(4) == alone
            split ^= split[0]
            assert TrustRag().drop_tight(vectors @ vectors.T, split) == expected

    def test_clusters_of_standardised_and_many_points(self):
        # As they are, these points would split into {1, 4, 5} and {2, 3}.
        vectors = [(1, 0, 1), (-2, 1, 2), (-1, 0, 3), (2, 3, -1), (1, 3, 1)]
        assert judge(vectors, similarity_threshold=0.7).kept_ranks == (1, 2, 3)
        texts = tuple(f"word{i} other{i}" for i in range(50))
        vectors = at(*[i % 5 for i in range(30)], *range(90, 250, 8))
        verdict = judge(vectors, texts)
        assert verdict.kept_ranks == tuple(range(31, 51))
        assert verdict == judge(vectors, texts)


class TestNearDuplicates:
    TEXTS = ("a b c d", "a b c e", "f g h i", "a b j k", "l m n o")  # 1-2 .75, 1-4 and 2-4 .5

    def test_near_duplicates(self):
        script = Script()
        verdict, _ = run(TrustRag().defend(documents(UNLIKE[:5]), None), script)
        assert reasons(verdict) == [Reason.NOT_JUDGED] * 5
        assert script.asked(Embed) == []
        texts = ("a b c d", "a b c e", *UNLIKE[2:5])
        assert judge(GOLDEN, texts, overlap_gate=True).kept_ranks == (4, 5)
        verdict = judge(at(0, 50, 60, 190, 250), self.TEXTS)
        assert reasons(verdict) == [SUPPORTED, DUPLICATE, SUPPORTED, DUPLICATE, SUPPORTED]
        texts = ("a b c d", *UNLIKE[1:3], "a b c e", UNLIKE[4])
        assert judge(GOLDEN, texts).kept_ranks == (4, 5)
        vectors = at(0, 50, 180, 230)
        texts = ("a b", "b a", *UNLIKE[2:4])  # ROUGE-L .5
        assert judge(vectors, texts, overlap_threshold=0.5).kept_ranks == (1, 2, 3, 4)
        assert judge(vectors, texts, overlap_threshold=0.49).kept_ranks == (1, 3, 4)
        texts = ("a b c d", UNLIKE[1], "a b c e", *UNLIKE[3:5])
        options = {"mode": "ado_alg1", "similarity_threshold": 0.0}
        # 1 lies at the rim of its cluster, 3 in the middle.
        assert judge(at(0, 30, 25, 180, 190), texts, **options).kept_ranks == (2, 3, 4, 5)
        assert judge(at(25, 30, 0, 180, 190), texts, **options).kept_ranks == (1, 2, 4, 5)
        # Documents 4 and 5 are dropped and draw nobody towards them.
        texts = ("a b c d", UNLIKE[1], "a b c e", *UNLIKE[3:5])
        vectors = at(0, 1, 20, 100, 150)
        assert judge(vectors, texts, mode="ado_alg1").kept_ranks == (1, 2)
        texts = ("a b c d", "a b c e", *UNLIKE[2:5])
        vectors = [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]
        verdict = judge(vectors, texts, mode="ado_alg1")
        assert reasons(verdict) == [SUPPORTED, DUPLICATE, SUPPORTED, SUPPORTED, SUPPORTED]


class TestAnswer:
    def test_what_is_answered_from(self):
        script = Script(embedding=dict(zip(UNLIKE, GOLDEN, strict=False)).__getitem__)
        evidence = documents(UNLIKE[:5])
        verdict, state = run(TrustRag(overlap_gate=False).defend(evidence, None), script)
        assert script.requests == [
            Embed(UNLIKE[:5]),
            Complete(Task.ANSWER_FROM_DOCUMENTS, evidence.query.text, UNLIKE[3:5]),
        ]
        assert (verdict.answer, verdict.abstention, state) == ("final", None, None)
        script = Script(embedding=lambda _: (1.0, 0.0))
        defending = TrustRag(overlap_gate=False).defend(documents(UNLIKE[:4]), None)
        verdict, _ = run(defending, script)
        assert verdict.abstention is Abstention.NO_CONSENSUS
        assert script.asked(Complete) == []
        verdict = judge(at(0, 5, 10, 90, 95), on_empty="all_documents")
        assert verdict.answer == "final"
        assert reasons(verdict) == [Reason.BEST_OF_NONE] * 5
        assert judge([(0.0, 0.0)] * 4).kept_ranks == (1, 2, 3), "zeros are unlike everything"

    @pytest.mark.parametrize("mode", ["original", "ado_alg1"])
    @pytest.mark.parametrize("n", [1, 2])
    def test_up_to_two_documents_pass_unchanged(self, mode: str, n: int):
        verdict = judge(at(0, 0)[:n], ("a b", "a b c")[:n], mode=mode)
        assert reasons(verdict) == [Reason.NOT_JUDGED] * n
        assert verdict.answer == "final"
