"""RADAR in time: the memory node, its beliefs, and where memory helps or harms."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.protocol import Complete, Embed, Relate
from radarstream.defenses.radar import Radar
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    Abstention,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)
from tests.builders import claims_evidence, make_evidence
from tests.driving import Script, by_equality, most_common, run, saying, towards
from tests.verdicts import keep_values, recomputed_energy, reject_values


def relations_of(answer: str, evidence: Evidence, entails: Sequence[float], contradicts):
    """Relations of `answer` with each informative answer of the evidence."""
    texts = [evidence.answers[i].text for i in evidence.informative]
    n = len(texts)
    pairs = zip(np.broadcast_to(entails, n), np.broadcast_to(contradicts, n), strict=True)
    return {answer: dict(zip(texts, pairs, strict=True))}


def judge_with_memory(
    evidence: Evidence, state: Belief, entails, contradicts
) -> tuple[Verdict, Belief, Script]:
    """One step with given relations of the memory; the memory's answer is repeated."""
    script = Script(
        answer=saying(state.answer),
        relation=towards(relations_of(state.answer, evidence, entails, contradicts)),
    )
    verdict, after = run(Radar().defend(evidence, state), script)
    return verdict, after, script


class TestGolden:
    def test_g_a12_change_is_adopted_and_g_a13_lies_win_two_to_one(self):
        entailment = np.full((4, 4), 0.9)
        entailment[0, 1] = entailment[1, 0] = 0.85
        evidence = make_evidence(entailment, np.full((4, 4), 0.01))
        verdict, _, _ = judge_with_memory(evidence, Belief("old", 0.9, 0.05), 0.03, 0.92)
        assert verdict.memory.support_posterior == pytest.approx(0.217742, abs=1e-6)
        assert verdict.memory.conflict_posterior == pytest.approx(0.377049, abs=1e-6)
        assert verdict.memory.decision is MemoryDecision.FALSIFIED
        assert verdict.energy == pytest.approx(0.377742, abs=1e-6)
        assert verdict.memory.margin == pytest.approx(0.417 - 0.377742, abs=5e-4)
        assert verdict.kept_ranks == (1, 2, 3, 4)
        entailment = [[0, 0.03, 0.9], [0.03, 0, 0.03], [0.9, 0.03, 0]]
        contradiction = [[0, 0.93, 0.01], [0.93, 0, 0.93], [0.01, 0.93, 0]]
        evidence = make_evidence(entailment, contradiction)
        verdict, _, _ = judge_with_memory(
            evidence, Belief("true", 0.9, 0.03), [0.03, 0.95, 0.03], [0.93, 0.01, 0.93]
        )
        assert keep_values(verdict) == pytest.approx([0.716531, 0, 0.367879], abs=1e-6)
        assert reject_values(verdict) == pytest.approx([0.01, 0.93, 0.01], abs=1e-6)
        assert verdict.memory.support_posterior == pytest.approx(0.820397, abs=1e-6)
        assert verdict.memory.conflict_posterior == pytest.approx(0.048689, abs=1e-6)
        assert verdict.energy == pytest.approx(0.960397, abs=1e-6)
        assert verdict.kept_ranks == (1, 3)
        assert verdict.memory.decision is MemoryDecision.FALSIFIED
        assert verdict.memory.margin > 0

    @pytest.mark.parametrize(("retrieved", "energy"), [(2, 1.376736), (10, 1.827588)])
    def test_g_a15_failure_case_1b_memory_backs_the_lie_it_once_believed(self, retrieved, energy):
        verdict, _, script = judge_with_memory(
            poison_and_truth(retrieved), Belief("lie", 0.95, 0.02), [0.95, 0.02], [0.02, 0.95]
        )
        assert verdict.memory.support_posterior == pytest.approx(0.947071, abs=1e-6)
        assert verdict.memory.conflict_posterior == pytest.approx(0.018857, abs=1e-6)
        assert verdict.energy == pytest.approx(energy, abs=1e-6)
        assert verdict.kept_ranks == (1,)
        assert verdict.documents[1].reason is Reason.CUT
        assert verdict.memory.decision is MemoryDecision.RETAINED
        assert script.asked(Complete)[0].passages == ("answer 1", "lie")

    @pytest.mark.parametrize(("retrieved", "energy"), [(2, 1.169582), (10, 1.918741)])
    def test_g_a15_failure_case_1b_stale_memory_outlives_a_disputed_update(self, retrieved, energy):
        verdict, _, script = judge_with_memory(
            poison_and_truth(retrieved), Belief("stale", 0.95, 0.02), 0.02, 0.9
        )
        assert verdict.memory.support_posterior == pytest.approx(0.279412, abs=1e-6)
        assert verdict.memory.conflict_posterior == pytest.approx(0.155172, abs=1e-6)
        assert verdict.energy == pytest.approx(energy, abs=1e-6)
        assert verdict.kept_ranks == ()
        assert verdict.memory.decision is MemoryDecision.RETAINED
        assert script.asked(Complete)[0].passages == ("stale",)
        assert script.asked(Embed) == []
        assert verdict.answer == "stale"


def poison_and_truth(retrieved: int) -> Evidence:
    entailment, contradiction = [[0, 0.02], [0.02, 0]], [[0, 0.95], [0.95, 0]]
    return make_evidence(entailment, contradiction, ranks=[1, 2], retrieved=retrieved)


class TestMemoryNode:
    def test_memory_is_related_both_ways_and_takes_no_part_in_centrality(self):
        evidence = claims_evidence(["A", None, "B"])
        script = Script(answer=saying("A"))
        run(Radar().defend(evidence, Belief("M", 0.6, 0.2)), script)
        recall, update = script.asked(Relate)
        assert recall == Relate(evidence.query.text, ("M", "M", "A", "B"), ("A", "B", "M", "M"))
        assert update == Relate(evidence.query.text, ("A", "A", "A", "B"), ("A", "B", "A", "A"))
        evidence = claims_evidence(["A", "A", "B"])
        without, _ = run(Radar().defend(evidence, None), Script())
        joined, _ = run(Radar().defend(evidence, Belief("B", 1.0, 0.0)), Script())
        assert keep_values(joined) == keep_values(without)
        assert reject_values(joined) == reject_values(without)

    @pytest.mark.parametrize(("scale", "capacity"), [(1.0, 0.6), (0.5, 0.3)])
    def test_the_two_directions_are_joined_by_their_geometric_mean(self, scale, capacity):
        """Only the direction from memory to document is strong; `pair_scale` holds here too."""

        def one_way(premise: str, hypothesis: str) -> tuple[float, float]:
            return (0.9, 0.0) if premise == "M" else (0.4, 0.0)

        script = Script(answer=saying("M"), relation=one_way)
        defending = Radar(pair_scale=scale).defend(claims_evidence(["A"]), Belief("M", 0.5, 0.5))
        verdict, _ = run(defending, script)
        assert verdict.edges == ((1, MEMORY_NODE, pytest.approx(capacity)),)
        memory = verdict.memory
        assert memory.support_posterior == pytest.approx(0.6)
        assert (memory.previous_answer, memory.support_prior, memory.conflict_prior) == (
            "M",
            0.5,
            0.5,
        )

    @settings(max_examples=60)
    @given(st.integers(1, 8), st.integers(0, 2**32 - 1))
    def test_the_verdict_is_enough_to_recompute_its_energy(self, n: int, seed: int):
        rng = np.random.default_rng(seed)
        evidence = make_evidence(*rng.random((2, n, n)))
        verdict, _, _ = judge_with_memory(
            evidence, Belief("M", *rng.random(2)), rng.random(n), rng.random(n)
        )
        assert verdict.energy == pytest.approx(recomputed_energy(verdict))
        assert verdict.memory.margin >= -1e-6

    def test_a_memory_rejected_by_everyone_does_not_hide_the_fallback(self):
        """The fallback is a document, never a falsified memory with more evidence."""
        evidence = claims_evidence(["A", "B"], leak=0.0)

        def hostile(premise: str, hypothesis: str) -> tuple[float, float]:
            return (0.3, 0.3)

        verdict, _ = run(
            Radar().defend(evidence, Belief("M", 0.02, 0.04)), Script(relation=hostile)
        )
        assert verdict.memory.decision is MemoryDecision.FALSIFIED
        assert verdict.documents[0].reason is Reason.BEST_OF_NONE
        assert verdict.kept_ranks == (1,)


class TestSynthesis:
    def test_atomic_answers_are_shown_with_a_memory_that_is_retained(self):
        script = Script(answer=saying("A"))
        evidence = claims_evidence(["A", "B", "A", None])
        run(Radar().defend(evidence, Belief("A!", 0.9, 0.05)), agreeing_memory(script))
        (request,) = script.asked(Complete)
        assert request.task is Task.SYNTHESISE_ANSWERS
        assert request.passages == ("A", "A", "A!")
        assert script.asked(Embed) == [Embed(("A", "A", "A!"))]
        script = Script(answer=saying("A"))
        run(Radar().defend(claims_evidence(["A"] * 4), Belief("old", 0.9, 0.05)), script)
        assert script.asked(Complete)[0].passages == ("A",) * 4

    def test_a_memory_unlike_the_rest_is_not_shown_but_stays_retained(self):
        def apart(text: str) -> tuple[float, float]:
            return (0.0, 1.0) if text == "A!" else (1.0, 0.0)

        script = agreeing_memory(Script(answer=saying("A"), embedding=apart))
        evidence = claims_evidence(["A", "A", "A"])
        verdict, _ = run(Radar().defend(evidence, Belief("A!", 0.9, 0.05)), script)
        assert verdict.memory.decision is MemoryDecision.RETAINED
        assert script.asked(Complete)[0].passages == ("A", "A", "A")
        assert verdict.kept_ranks == (1, 2, 3)


def agreeing_memory(script: Script) -> Script:
    """ "A!" means the same as "A"."""
    script.relation = lambda p, h: by_equality(p.rstrip("!"), h.rstrip("!"))
    return script


class TestState:
    def test_the_prior_and_not_the_posterior_is_carried_forward(self):
        # Cut documents count: the prior says how disputed the answer was.
        evidence = claims_evidence(["A", "A", "B", None])
        verdict, belief = run(Radar().defend(evidence, None), Script(answer=saying("A")))
        assert verdict.kept_ranks == (1, 2)
        assert belief == Belief(
            "A", pytest.approx((2 * 0.95 + 0.02) / 3), pytest.approx((2 * 0.01 + 0.95) / 3)
        )
        evidence = claims_evidence(["A", "A"])
        script = Script(answer=saying("A"))
        _, confident = run(Radar().defend(evidence, Belief("A", 0.99, 0.01)), script)
        _, doubtful = run(Radar().defend(evidence, Belief("A", 0.51, 0.49)), script)
        assert confident == doubtful

    def test_states_start_with_information_and_outlive_an_empty_cut(self):
        script = Script(answer=saying("A"))
        _, state = run(Radar().defend(claims_evidence([None, None]), None), script)
        assert state is None
        _, state = run(Radar().defend(claims_evidence(["A", "A"]), state), script)
        assert script.asked(Complete)[0].task is Task.ANSWER_FROM_DOCUMENTS
        assert state.answer == "A"
        state = Belief("M", 0.02, 0.9)
        verdict, after = run(
            Radar(on_empty="abstain").defend(claims_evidence(["A", "B"], leak=0.0), state),
            Script(relation=lambda p, h: (0.0, 0.9)),
        )
        assert verdict.abstention is Abstention.NO_CONSENSUS
        assert verdict.memory.decision is MemoryDecision.FALSIFIED
        assert after == state

    @pytest.mark.parametrize("claims", [[], [None], [None, None]])
    def test_without_evidence_the_previous_answer_stands(self, claims: list[None]):
        script, state = Script(), Belief("A", 0.9, 0.05)
        verdict, after = run(Radar().defend(claims_evidence(claims), state), script)
        assert (verdict.answer, verdict.abstention, after) == ("A", None, state)
        assert verdict.memory == MemoryVerdict(MemoryDecision.NONE, "A", 0.9, 0.05)
        assert len(verdict.documents) == len(claims)
        assert script.requests == []


class TestOverTime:
    @staticmethod
    def answers(history: list[list[str | None]], first: str) -> list[str]:
        state, given = None, []
        for claims in history:
            script = Script(answer=most_common if state else saying(first))
            verdict, state = run(Radar().defend(claims_evidence(claims), state), script)
            given.append(verdict.answer)
        return given

    def test_a_changed_truth_is_adopted_and_gaps_are_bridged(self):
        history = [["old"] * 5, ["old"] * 3 + ["new"] * 2, ["new"] * 5, ["new"] * 5]
        assert self.answers(history, "old") == ["old", "old", "new", "new"]
        history = [["old"] * 5, [None] * 5, ["old"] * 5]
        assert self.answers(history, "old") == ["old", "old", "old"]

    def test_memory_settles_a_dispute_for_whoever_it_believed(self):
        # One lie above one truth: alone the lie's rank wins, with memory the truth does.
        disputed = ["lie", "truth"]
        verdict, _ = run(Radar().defend(claims_evidence(disputed), None), Script())
        assert verdict.kept_ranks == (1,)
        assert self.answers([["truth"] * 5, disputed], "truth") == ["truth", "truth"]
        disputed = ["truth", "lie"]
        verdict, _ = run(Radar().defend(claims_evidence(disputed), None), Script())
        assert verdict.kept_ranks == (1,)
        assert self.answers([["lie"], disputed], "lie") == ["lie", "lie"]
