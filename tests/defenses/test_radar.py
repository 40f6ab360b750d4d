"""Static RADAR: golden numbers, degenerate inputs and known weaknesses."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.kernels.radar import keep_evidence, reject_evidence
from radarstream.defenses.protocol import Complete, Embed
from radarstream.defenses.radar import Radar
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Abstention, MemoryVerdict, Reason, Verdict
from tests.builders import camps, claims_evidence, make_evidence
from tests.driving import Script, run, saying
from tests.verdicts import keep_values, recomputed_energy, reject_values


def agreeable(_: str, __: str) -> tuple[float, float]:
    """Relations of the final answer, which static verdicts do not depend on."""
    return (0.9, 0.05)


def judge(evidence: Evidence, radar: Radar | None = None, **script) -> Verdict:
    script.setdefault("relation", agreeable)
    verdict, _ = run((radar or Radar()).defend(evidence, None), Script(**script))
    return verdict


def full(n: int, entailment: float, contradiction: float = 0.0, **ranks) -> Evidence:
    return make_evidence(np.full((n, n), entailment), np.full((n, n), contradiction), **ranks)


G_A2 = make_evidence(
    [[0, 0.8, 0.1], [0.8, 0, 0.05], [0.1, 0.05, 0]], [[0, 0.02, 0.7], [0.02, 0, 0.9], [0.7, 0.9, 0]]
)
# Evidence to keep and to reject, energy, and the ranks that are kept.
GOLDEN = {
    "G-A2": (G_A2, [0.690756, 0.513417, 0], [0.02, 0.02, 0.801832], 0.19, (1, 2)),
    "G-A3, poison at the first rank": (
        make_evidence(*camps([1, 4], within=(0.9, 0.01), across=(0.02, 0.95))),
        [0, 0.670320, 0.548812, 0.449329, 0.367879], [0.95, *[0.01] * 4], 0.12, (2, 3, 4, 5),
    ),
    # The printed equations would give every one of them centrality 0 and keep none.
    "G-A4, unanimous": (
        full(4, 0.9), [0.778801, 0.606531, 0.472367, 0.367879], [0.0] * 4, 0.0, (1, 2, 3, 4),
    ),
    "G-A5": (full(2, 0.0, 0.95), [0.606531, 0.367879], [0.95] * 2, 0.974410, (1,)),
    "G-A5, of ten": (
        full(2, 0.0, 0.95, retrieved=10), [0.904837, 0.818731], [0.95] * 2, 1.723568, (1,),
    ),
    "G-A6, equal camps": (
        make_evidence(*camps([2, 2], within=(0.9, 0.01), across=(0.0, 0.95))),
        None, [0.636667] * 4, 2.113579, (1, 2),
    ),
    "G-A7, weakly related": (full(3, 0.05, 0.05), None, None, 0.15, (1, 2, 3)),
    "G-A9, ranks of before": (
        full(3, 0.9, ranks=[2, 5, 9], retrieved=10), [0.818731, 0.606531, 0.406570], [0.0] * 3, 0.0,
        (2, 5, 9),
    ),
}  # fmt: skip


class TestGolden:
    @pytest.mark.parametrize("name", GOLDEN)
    def test_static_verdicts(self, name: str):
        evidence, keep, reject, energy, kept = GOLDEN[name]
        verdict = judge(evidence)
        assert keep is None or keep_values(verdict) == pytest.approx(keep, abs=1e-6)
        assert reject is None or reject_values(verdict) == pytest.approx(reject, abs=1e-6)
        assert verdict.energy == pytest.approx(energy, abs=1e-6)
        assert verdict.kept_ranks == kept

    def test_margins_reasons_and_halves(self):
        verdict = judge(G_A2)
        # Energies of the neighbours by one document: 010, 100 and 111.
        margins = np.array([1.560756, 1.433417, 0.841832]) - 0.19
        assert [d.margin for d in verdict.documents] == pytest.approx(margins, abs=2e-6)
        reasons = [d.reason for d in verdict.documents]
        assert reasons == [Reason.SUPPORTED, Reason.SUPPORTED, Reason.CUT]
        reasons = [d.reason for d in judge(GOLDEN["G-A5"][0]).documents]
        assert reasons == [Reason.BEST_OF_NONE, Reason.CUT]
        verdict = judge(perfect(np.array([True] * 4 + [False] * 6)))
        assert verdict.kept_ranks == (5, 6, 7, 8, 9, 10)
        verdict = judge(perfect(np.array([True] * 5 + [False] * 5)))
        assert verdict.kept_ranks == (1, 2, 3, 4, 5)
        assert verdict.energy == pytest.approx(5.047, abs=5e-4)

    @pytest.mark.parametrize(("benign", "adverse"), [(9, 1), (8, 2), (7, 3), (6, 4), (26, 24)])
    @pytest.mark.parametrize("seed", range(5))
    def test_g_a10_perfect_relations_keep_exactly_the_majority(self, benign, adverse, seed):
        truth = np.random.default_rng(seed).permutation([True] * benign + [False] * adverse)
        verdict = judge(perfect(truth))
        assert verdict.kept_ranks == tuple(np.flatnonzero(truth) + 1)


def perfect(truth: np.ndarray) -> Evidence:
    """Camps that entail themselves and contradict each other without error."""
    same = truth[:, None] == truth[None, :]
    return make_evidence(same.astype(float), (~same).astype(float))


class TestIsolation:
    """G-A8: the cosine check after the cut."""

    @staticmethod
    def vectors(cosines: list[list[float]]):
        rows = np.linalg.cholesky(np.array(cosines))
        return lambda text: rows[int(text.removeprefix("answer ")) - 1]

    def test_unlike_answers_are_dropped_but_not_at_the_threshold(self):
        embedding = self.vectors([[1, 0.8, 0.1], [0.8, 1, 0.2], [0.1, 0.2, 1]])
        evidence = make_evidence(np.full((3, 3), 0.9), np.zeros((3, 3)))
        verdict = judge(evidence, embedding=embedding)
        assert verdict.kept_ranks == (1, 2)
        assert verdict.documents[2].reason is Reason.ISOLATED
        assert verdict.energy == recomputed_energy(verdict) == 0.0
        # B's mean cosine is exactly 0.5, that of the others 0.75.
        rows = {"A": (1.0, 0.0), "B": (0.5, 0.5), "C": (1.0, 0.0)}
        evidence = claims_evidence(["A", "B", "C"], agree=0.05, leak=0.9)
        verdict = judge(
            evidence, Radar(similarity_threshold=0.5), embedding=lambda text: rows[text]
        )
        assert verdict.kept_ranks == (1, 2, 3)

    @pytest.mark.parametrize(
        ("threshold", "kept"), [(0.45, (1, 2)), (0.47, (2,)), (0.14, (1, 2, 3))]
    )
    def test_g_a8_the_threshold_is_on_the_mean_cosine(self, threshold: float, kept: tuple):
        """Mean cosines are 0.45, 0.5 and 0.15; the first is met up to rounding."""
        embedding = self.vectors([[1, 0.8, 0.1], [0.8, 1, 0.2], [0.1, 0.2, 1]])
        evidence = make_evidence(np.full((3, 3), 0.9), np.zeros((3, 3)))
        radar = Radar(similarity_threshold=threshold - 1e-9)
        assert judge(evidence, radar, embedding=embedding).kept_ranks == kept

    def test_g_a8_who_is_embedded_and_when_all_would_go(self):
        embedding = self.vectors([[1, 0.2], [0.2, 1]])
        evidence = make_evidence(np.full((2, 2), 0.9), np.zeros((2, 2)))
        verdict = judge(evidence, embedding=embedding)
        assert verdict.kept_ranks == (1, 2)
        assert {d.reason for d in verdict.documents} == {Reason.SUPPORTED}
        script = Script()
        verdict, _ = run(Radar().defend(claims_evidence(["A"]), None), script)
        assert verdict.kept_ranks == (1,)
        assert script.asked(Embed) == []
        script = Script()
        run(Radar().defend(claims_evidence(["B", "A", None, "A", "A"]), None), script)
        assert script.asked(Embed) == [Embed(("A", "A", "A"))]


class TestEquations:
    def test_unweighted_means_and_scaled_edges(self):
        conflict = np.array([[0, 0.2, 0.6], [0.2, 0, 0.4], [0.6, 0.4, 0]])
        for central, expected in ((1.0, [0.4, 0.2, 0.6]), (0.0, [0.4, 0.3, 0.5])):
            values = reject_evidence(conflict, np.array([central, 0.0, 0.0]))
            assert values == pytest.approx(expected)
        entailment = [[1, 0.9, 0], [0.4, 1, 0.5], [0.7, 0.5, 1]]
        verdict = judge(make_evidence(entailment, np.zeros((3, 3))), Radar(pair_scale=0.5))
        edges = {(a, b): capacity for a, b, capacity in verdict.edges}
        assert edges == pytest.approx({(1, 2): 0.3, (2, 3): 0.25})

    @given(st.integers(1, 8), st.integers(0, 2**32 - 1))
    def test_documents_permuted_with_their_ranks_permute_the_capacities(self, n: int, seed: int):
        rng = np.random.default_rng(seed)
        conflict = rng.random((n, n))
        conflict = np.triu(conflict, 1) + np.triu(conflict, 1).T
        centrality, ranks, order = rng.random(n), rng.permutation(n) + 1, rng.permutation(n)
        moved = reject_evidence(conflict[np.ix_(order, order)], centrality[order])
        assert moved == pytest.approx(reject_evidence(conflict, centrality)[order])
        moved = keep_evidence(centrality[order], ranks[order], retrieved=n)
        assert moved == pytest.approx(keep_evidence(centrality, ranks, retrieved=n)[order])

    @settings(max_examples=60)
    @given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0]))
    def test_the_verdict_is_enough_to_recompute_its_energy(self, n: int, seed: int, scale: float):
        rng = np.random.default_rng(seed)
        entailment, contradiction = rng.random((2, n, n)) * rng.integers(0, 2, (2, n, n))
        evidence = make_evidence(entailment, contradiction)
        verdict = judge(evidence, Radar(pair_scale=scale))
        assert verdict.energy == pytest.approx(recomputed_energy(verdict))
        assert min(d.margin for d in verdict.documents) >= -1e-6


class TestLeakBudget:
    """One outlier among n is cut only if S + sum of its cross entailments < F <= 1."""

    def test_leak_budget(self):
        for n, leak, scale, poison_kept in [
            (10, 0.10, 1.0, False), (10, 0.11, 1.0, True), (50, 0.018, 1.0, False),
            (50, 0.02, 1.0, True), (10, 0.30, 0.3, False), (10, 0.35, 0.3, False),
            (10, 0.36, 0.3, True), (50, 0.06, 0.3, False), (50, 0.07, 0.3, True),
        ]:  # fmt: skip
            entailment, contradiction = camps([1, n - 1], within=(0.95, 0.01), across=(leak, 0.95))
            verdict = judge(make_evidence(entailment, contradiction), Radar(pair_scale=scale))
            assert verdict.documents[0].kept is poison_kept, (n, leak, scale)
            assert all(d.kept for d in verdict.documents[1:])


class TestDegenerate:
    def test_few_informative_documents_and_many_copies(self):
        script, evidence = Script(), replace(claims_evidence([None, None]), relations=None)
        verdict, state = run(Radar().defend(evidence, None), script)
        assert verdict.abstention is Abstention.NO_EVIDENCE
        assert [d.reason for d in verdict.documents] == [Reason.UNINFORMATIVE] * 2
        assert (verdict.kept_ranks, verdict.energy, state, script.requests) == ((), None, None, [])
        verdict = judge(claims_evidence([None, "A", None]))
        document = verdict.documents[1]
        assert (document.kept, document.reason) == (True, Reason.SUPPORTED)
        assert document.keep_evidence == pytest.approx(math.exp(-2 / 3))
        assert document.reject_evidence == 0.0
        assert judge(claims_evidence(["truth", "lie", "lie", "lie"])).kept_ranks == (2, 3, 4)


class TestEmptyCut:
    evidence = claims_evidence(["A", "B", "C"], leak=0.0)

    def test_empty_cuts(self):
        contradiction = np.array([[0, 0.99, 0.99], [0.99, 0, 0.9], [0.99, 0.9, 0]])
        evidence = make_evidence(np.zeros((3, 3)), contradiction, ranks=[28, 29, 30], retrieved=30)
        verdict = judge(evidence)
        differences = np.subtract(keep_values(verdict), reject_values(verdict))
        assert np.argmax(differences) == 1
        assert verdict.kept_ranks == (29,)
        verdict = judge(self.evidence, Radar(on_empty="all_informative"))
        assert verdict.kept_ranks == (1, 2, 3)
        assert {d.reason for d in verdict.documents} == {Reason.BEST_OF_NONE}
        script = Script()
        verdict, state = run(Radar(on_empty="abstain").defend(self.evidence, None), script)
        assert verdict.abstention is Abstention.NO_CONSENSUS
        assert (verdict.answer, verdict.kept_ranks, state) == ("", (), None)
        assert script.requests == []
        assert verdict.energy == pytest.approx(recomputed_energy(verdict))


def test_first_answers_and_failure_case_1a():
    for options, task, passages in [
        ({}, Task.ANSWER_FROM_DOCUMENTS, ("Title 1\ndocument 1", "Title 4\ndocument 4")),
        ({"first_answer": "answers"}, Task.SYNTHESISE_ANSWERS, ("A", "A")),
    ]:
        script, evidence = Script(), claims_evidence(["A", "B", None, "A"])
        verdict, _ = run(Radar(**options).defend(evidence, None), script)
        assert script.asked(Complete) == [Complete(task, evidence.query.text, passages)]
        assert verdict.answer == "final", options
        assert verdict.memory == MemoryVerdict()
    evidence = claims_evidence(["lie", *[None] * 9])
    verdict, state = run(Radar().defend(evidence, None), Script(answer=saying("lie")))
    assert verdict.kept_ranks == (1,)
    assert verdict.answer == state.answer == "lie"


class TestPartialAnswers:
    """G-A16, the paper's failure case 2: six documents name one laureate, three name both."""

    @staticmethod
    def verdict(entailment: float, contradiction: float) -> Verdict:
        matrices = camps([6, 3], within=(0.95, 0.01), across=(entailment, contradiction))
        return judge(make_evidence(*matrices, ranks=range(1, 10), retrieved=10))

    def test_failure_case_2_partial_answers_displace_the_full_one(self):
        verdict = self.verdict(0.05, 0.6)
        assert reject_values(verdict) == pytest.approx([0.01] * 6 + [0.6] * 3, abs=1e-6)
        assert keep_values(verdict)[6:] == pytest.approx([0.0] * 3, abs=1e-6)
        assert verdict.energy == pytest.approx(0.96, abs=1e-6)
        assert verdict.kept_ranks == (1, 2, 3, 4, 5, 6)
        verdict = self.verdict(0.308221, 0.077460)
        assert verdict.energy == pytest.approx(0.292379, abs=2e-6)
        assert len(verdict.kept_ranks) == 9
        # 18 * 0.05 + 0.06 and 0.06 + 0.9 are equal in decimals.
        verdict = self.verdict(0.05, 0.3)
        assert verdict.energy == pytest.approx(0.96, abs=1e-6)
        assert verdict.kept_ranks == (1, 2, 3, 4, 5, 6)
