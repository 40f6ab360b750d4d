"""Whatever is altered in an event is found, as far as the event tells."""

from dataclasses import replace

import pytest

from radarstream.defenses.radar import Radar
from radarstream.defenses.recheck import rechecked
from radarstream.defenses.recheck.checks import Outcome
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Belief
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.verdict import Abstention, MemoryDecision, Reason, Verdict
from tests.builders import OBSERVED_AT, QUESTION, claims_evidence
from tests.driving import Script, run


def event_of(verdict: Verdict) -> AnswerEvent:
    return AnswerEvent(
        query_id="cup",
        question=QUESTION,
        step=0,
        snapshot_id="cup@0",
        observed_at=OBSERVED_AT,
        provenance=Provenance.SIMULATED,
        defense="radar",
        answer=verdict.answer,
        abstention=verdict.abstention,
        changed=None,
        verdict=verdict,
    )


@pytest.fixture(scope="module")
def event() -> AnswerEvent:
    evidence = claims_evidence(["A", "A", "B", "A", None])
    state = Belief("A", 0.9, 0.05)
    verdict, _ = run(Radar().defend(evidence, state), Script())
    return event_of(verdict)


def wrong(event: AnswerEvent) -> set[str]:
    return {check.about for check in rechecked(event) if check.outcome is Outcome.WRONG}


def with_document(event: AnswerEvent, index: int, **changes) -> AnswerEvent:
    documents = list(event.verdict.documents)
    documents[index] = replace(documents[index], **changes)
    return replace(event, verdict=replace(event.verdict, documents=tuple(documents)))


def test_an_answer_that_is_not_the_verdicts_is_found(event: AnswerEvent):
    assert wrong(replace(event, answer="another")) == {"verdict"}


def test_an_honest_event_is_right_in_all(event: AnswerEvent):
    assert [check.outcome for check in rechecked(event)][:2] == [Outcome.RIGHT] * 2


def test_another_energy(event: AnswerEvent):
    altered = replace(event, verdict=replace(event.verdict, energy=event.verdict.energy + 0.01))
    assert wrong(altered) == {"energy"}


@pytest.mark.parametrize(
    "changes",
    [
        {"keep_evidence": 0.01},
        {"reject_evidence": 0.4},
        {"reason": Reason.CUT, "kept": False},
        {"kept": False},
        {"margin": 3.0},
    ],
)
def test_another_document(event: AnswerEvent, changes: dict):
    assert "verdict" in wrong(with_document(event, 0, **changes))


@pytest.mark.parametrize(
    "changes", [{"answer": "B"}, {"answer": "", "abstention": Abstention.NO_CONSENSUS}]
)
def test_another_answer(event: AnswerEvent, changes: dict):
    assert wrong(replace(event, **changes)) == {"verdict"}


def test_another_edge(event: AnswerEvent):
    (a, b, capacity), *others = event.verdict.edges
    edges = ((a, b, capacity / 2), *others)
    altered = replace(event, verdict=replace(event.verdict, edges=edges))
    assert "verdict" in wrong(altered)


def test_an_edge_to_nowhere(event: AnswerEvent):
    edges = (*event.verdict.edges, (1, 99, 0.5))
    altered = replace(event, verdict=replace(event.verdict, edges=edges))
    assert {"energy", "verdict"} == wrong(altered)


def test_another_fate_of_the_memory(event: AnswerEvent):
    memory = replace(event.verdict.memory, decision=MemoryDecision.FALSIFIED)
    altered = replace(event, verdict=replace(event.verdict, memory=memory))
    assert {"energy", "verdict"} <= wrong(altered)


@pytest.mark.parametrize("value", [-1.0, 1e200, 5e-324])
@pytest.mark.parametrize("place", ["edge", "loop", "keep", "reject", "prior"])
def test_absurd_values_raise_nothing(event: AnswerEvent, value: float, place: str):
    (a, b, _), *others = event.verdict.edges
    verdict = event.verdict
    match place:
        case "edge":
            verdict = replace(verdict, edges=((a, b, value), *others))
        case "loop":
            verdict = replace(verdict, edges=((a, a, value), *others))
        case "prior":
            verdict = replace(verdict, memory=replace(verdict.memory, conflict_posterior=value))
        case evidence:
            verdict = with_document(event, 0, **{f"{evidence}_evidence": value}).verdict
    assert wrong(replace(event, verdict=verdict))
