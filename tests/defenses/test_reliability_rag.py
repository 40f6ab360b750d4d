"""ReliabilityRAG over documents: golden graphs, fallbacks, and its theorem as properties."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.models.scripted import ScriptedEmbedder, ScriptedGenerator
from radarstream.defenses.protocol import Complete
from radarstream.defenses.reliability_rag import ReliabilityRag
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Reason, Verdict
from tests.builders import claims_evidence, make_evidence, make_snapshot
from tests.driving import Script, run, saying


def contradicting(n: int, pairs: list[tuple[int, int]], p: float = 0.9) -> Evidence:
    """n documents; the answer at the first rank of each pair contradicts the second's."""
    matrix = np.full((n, n), 0.01)
    for better, worse in pairs:
        matrix[better - 1, worse - 1] = p
    return make_evidence(np.zeros((n, n)), matrix)


def judge(evidence: Evidence, **options) -> Verdict:
    return run(ReliabilityRag(**options).defend(evidence, None), Script())[0]


def kept(n: int, pairs: list[tuple[int, int]], **options) -> tuple[int, ...]:
    return judge(contradicting(n, pairs), **options).kept_ranks


class TestGolden:
    @pytest.mark.parametrize(
        ("n", "pairs", "expected"),
        [
            pytest.param(5, [(1, 2), (1, 3), (1, 4), (1, 5)], (2, 3, 4, 5), id="G-B1"),
            pytest.param(5, [(1, 2), (2, 3), (3, 4), (4, 5), (1, 5)], (1, 3), id="G-B3"),
            pytest.param(6, [(1, 4), (1, 5), (2, 4), (2, 6), (3, 5)], (1, 2, 3), id="G-B5"),
            pytest.param(5, itertools.product((1, 2), (3, 4, 5)), (3, 4, 5), id="G-B6"),
            # On a tie, preferring better ranks helps an attacker who holds them.
            pytest.param(4, itertools.product((1, 2), (3, 4)), (1, 2), id="G-B4 and G-B7"),
        ],
    )
    def test_graphs(self, n: int, pairs, expected: tuple[int, ...]):
        assert kept(n, list(pairs)) == expected

    def test_g_b8_contradictions_of_an_abstention_change_nothing(self):
        """Whatever a scorer would say of a document without an answer, nobody asks it."""

        class Scorer:
            model_id = "scorer"

            def __init__(self, of_abstentions: float) -> None:
                self.of_abstentions = of_abstentions

            def probabilities(self, pairs):
                both = [(p.premise, p.hypothesis) for p in pairs]
                conflict = [self.of_abstentions if "know" in a + b else a != b for a, b in both]
                return np.array([[0.0, 1.0 - c, float(c)] for c in conflict])

        snapshot = make_snapshot(["it was Rome", "unclear", "it was Rome", "it was Oslo"])
        script = {"unclear": "I don't know", "Rome": "Rome", "Oslo": "Oslo"}
        answers = []
        for of_abstentions in (0.0, 1.0):
            scorer = Scorer(of_abstentions)
            models = Models(ScriptedGenerator(script), scorer, ScriptedEmbedder())
            guard = DefensePipeline("reliability_rag", ReliabilityRag(), models)
            answers.append(guard.answer(snapshot, guard.initial_memory())[0])
        assert answers[0] == answers[1]
        assert answers[0].verdict.kept_ranks == (1, 3)


class TestEdges:
    def test_only_the_better_answer_as_premise_counts(self):
        assert kept(2, [(2, 1)]) == (1, 2)

    @pytest.mark.parametrize(
        ("p", "options", "expected"),
        [(0.5, {}, (1,)), (0.4999, {}, (1, 2)), (0.8, {"contradiction_threshold": 0.81}, (1, 2))],
    )
    def test_the_threshold_itself_contradicts(self, p: float, options, expected):
        assert judge(contradicting(2, [(1, 2)], p), **options).kept_ranks == expected


class TestAnswer:
    def test_kept_documents_answer_in_rank_order(self):
        script = Script(answer=saying("final"))
        evidence = claims_evidence(["lie", "truth", None, "truth"])
        verdict, state = run(ReliabilityRag().defend(evidence, None), script)
        assert script.requests == [
            Complete(
                Task.ANSWER_FROM_DOCUMENTS,
                evidence.query.text,
                ("Title 2\ndocument 2", "Title 4\ndocument 4"),
            )
        ]
        assert (verdict.answer, verdict.abstention, state) == ("final", None, None)
        assert [(d.kept, d.reason, d.atomic_answer) for d in verdict.documents] == [
            (False, Reason.CONTRADICTED, "lie"), (True, Reason.SUPPORTED, "truth"),
            (False, Reason.UNINFORMATIVE, None), (True, Reason.SUPPORTED, "truth"),
        ]  # fmt: skip

    def test_without_any_answer_all_are_passed_on_and_ranks_may_have_gaps(self):
        verdict = judge(claims_evidence([None, None]))
        assert (verdict.answer, verdict.kept_ranks) == ("final", (1, 2))
        assert {d.reason for d in verdict.documents} == {Reason.NOT_JUDGED}
        whole = claims_evidence(["lie", "truth", "truth", "lie", "truth"])
        documents = tuple(replace(d, rank=3 * d.rank) for d in whole.documents)
        assert judge(replace(whole, documents=documents)).kept_ranks == (6, 9, 15)


class TestMethods:
    def test_up_to_twenty_documents_are_judged_exactly(self):
        claims = ["lie"] * 9 + ["truth"] * 11
        for method in ("auto", "exact"):
            verdict = judge(claims_evidence(claims), method=method)
            assert verdict.kept_ranks == tuple(range(10, 21))
        evidence = claims_evidence(["truth"] * 21)
        with pytest.raises(EvidenceError, match="too many documents"):
            judge(evidence, method="exact")
        script = Script(answer=saying("truth"))
        automatic, _ = run(ReliabilityRag().defend(evidence, None), script)
        assert automatic == judge_by_samples(evidence)
        assert len(script.requests) == 3


def judge_by_samples(evidence: Evidence) -> Verdict:
    rag = ReliabilityRag(method="sampling")
    return run(rag.defend(evidence, None), Script(answer=saying("truth")))[0]


class TestTheorem:
    """Under what assumptions no poisoned document is trusted (Theorem 1)."""

    @given(st.data())
    def test_perfect_relations_and_a_benign_majority(self, data: st.DataObject):
        """Whatever the poisoned documents say of each other."""
        k = data.draw(st.integers(1, 12))
        poisoned = data.draw(st.permutations(range(1, k + 1)))[: (k - 1) // 2]
        pairs = [
            (a, b)
            for a, b in itertools.combinations(range(1, k + 1), 2)
            if (a in poisoned) != (b in poisoned) or (a in poisoned and data.draw(st.booleans()))
        ]
        assert kept(k, pairs) == tuple(r for r in range(1, k + 1) if r not in poisoned)
