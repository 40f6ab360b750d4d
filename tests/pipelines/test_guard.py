"""The guard: snapshot and memory in, defended answer and memory out."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from radarstream.connectors.models.scripted import ScriptedRelations
from radarstream.defenses.protocol import Complete, Defending
from radarstream.defenses.radar import Radar
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Concluded, Ready
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.memory import Memory, StandingAnswer
from radarstream.schemas.prompt import AnswerPair, Task
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot
from radarstream.schemas.verdict import Abstention, MemoryDecision, Verdict
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models


def radar_guard(
    models: Models | None = None, *, baseline: str | None = "vanilla"
) -> DefensePipeline[Any]:
    models = models or scripted_models()
    return DefensePipeline(
        "radar", Radar(), models, baseline=build_defense(baseline) if baseline else None
    )


def claims(*winners: str | None, step: int = 0, query_id: str = "cup") -> SearchSnapshot:
    """One document per winner; None is a document without an answer."""
    texts = [f"The winner: {w}." if w else "Nothing here: I don't know" for w in winners]
    return make_snapshot(texts, query_id=query_id, observed_at=OBSERVED_AT + timedelta(days=step))


HISTORY = [
    ("Rome", "Rome", "Rome", "Oslo"),
    ("Rome", "Oslo", "Rome", None),
    (None, None),
    ("Bern", "Bern", "Bern", "Rome"),
    (),
    ("Bern",),
]


def story(query_id: str, turn: int = 0) -> list[SearchSnapshot]:
    turned = HISTORY[turn:] + HISTORY[:turn]
    return [claims(*w, step=i, query_id=query_id) for i, w in enumerate(turned)]


def answered(
    guard: DefensePipeline[Any], snapshots: Sequence[SearchSnapshot]
) -> tuple[list[Any], Any]:
    memory, events = guard.initial_memory(), []
    for snapshot in snapshots:
        event, memory = guard.answer(snapshot, memory)
        events.append(event)
    return events, memory


def test_answers_follow_the_evidence_and_say_when_they_change() -> None:
    events, memory = answered(radar_guard(), story("cup"))
    assert [event.answer for event in events] == ["Rome", "Rome", "Rome", "Bern", "Bern", "Bern"]
    assert [event.changed for event in events] == [None, False, False, True, False, False]
    assert [event.step for event in events] == list(range(6))
    assert memory.step == 6


def test_the_baseline_never_changes_the_defended_verdict() -> None:
    with_baseline, one = answered(radar_guard(), story("cup"))
    without, other = answered(radar_guard(baseline=None), story("cup"))
    assert one == other
    assert {event.undefended_answer for event in without} == {None}
    assert [replace(event, undefended_answer=None) for event in with_baseline] == without


class Refusing:
    """A baseline whose prompt no model takes."""

    needs: frozenset[Any] = frozenset()

    def initial_state(self) -> None: ...

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        answer = yield Complete(Task.SYNTHESISE_ANSWERS, "?", ("too long",))
        return Verdict(answer.text, ()), None


def test_a_failing_baseline_costs_the_comparison_and_nothing_else() -> None:
    models = scripted_models(fail_on_text="too long")
    guard = replace(radar_guard(models), baseline=Refusing())
    event, memory = guard.answer(claims("Rome", "Rome"), guard.initial_memory())
    assert (event.answer, event.undefended_answer, memory.step) == ("Rome", None, 1)


@pytest.mark.parametrize(
    ("winners", "abstention"),
    [
        ((), Abstention.NO_DOCUMENTS),
        ((None, None, None), Abstention.NO_EVIDENCE),
        (("Rome",), None),
        ((None, "Rome", None), None),
    ],
)
def test_a_first_snapshot_of_any_size(
    winners: tuple[str | None, ...], abstention: Abstention | None
) -> None:
    guard = radar_guard()
    event, memory = guard.answer(claims(*winners), guard.initial_memory())
    assert event.abstention is abstention
    assert event.answer == ("" if abstention else "Rome")
    assert event.changed is None
    assert (memory.step, memory.state is None) == (1, abstention is not None)
    assert len(event.sources) == len(event.verdict.documents) == len(winners)


@pytest.mark.parametrize("winners", [(), (None,), (None, None, None)])
def test_without_evidence_the_previous_answer_stands(winners: tuple[None, ...]) -> None:
    guard = radar_guard()
    _, before = guard.answer(claims("Rome", "Rome"), guard.initial_memory())
    event, after = guard.answer(claims(*winners, step=1), before)
    assert (event.answer, event.abstention, event.changed) == ("Rome", None, False)
    assert event.verdict.memory.decision is MemoryDecision.NONE
    assert after == Memory(before.step + 1, before.state, before.standing)


def test_documents_come_in_rank_order_however_they_are_given() -> None:
    ordered = claims("Rome", "Oslo", "Rome", None)
    shuffled = SearchSnapshot(
        ordered.query, ordered.observed_at, ordered.documents[::-1], ordered.provenance
    )
    guard = radar_guard()
    memory = guard.initial_memory()
    assert guard.answer(shuffled, memory) == guard.answer(ordered, memory)


def test_ranks_with_gaps_are_kept() -> None:
    documents = (Document(7, "The winner: Rome."), Document(2, "The winner: Rome."))
    snapshot = replace(claims(), documents=documents)
    guard = radar_guard()
    event, _ = guard.answer(snapshot, guard.initial_memory())
    assert [d.rank for d in event.verdict.documents] == [2, 7]


class FailingOn(ScriptedRelations):
    """Fails when exactly the two given answers are compared, and nothing else."""

    pair = frozenset({"Rome", "Bern"})

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        if len(pairs) == 2 and {pairs[0].premise, pairs[0].hypothesis} == self.pair:
            raise ModelError("no comparison")
        return super().probabilities(pairs)


def test_a_failed_comparison_with_the_previous_answer_is_that_query_s_own() -> None:
    models = replace(scripted_models(), relations=FailingOn())
    guard = DefensePipeline("majority", build_defense("majority", {"memory": True}), models)
    before = {}
    for query_id in ("a", "b"):
        first = claims("Rome", "Rome", "Rome", query_id=query_id)
        _, before[query_id] = guard.answer(first, guard.initial_memory())
    changed = claims("Bern", "Bern", "Bern", step=1, query_id="a")
    steady = claims("Rome", "Rome", "Rome", step=1, query_id="b")
    failed, good = guard.run([(changed, before["a"]), (steady, before["b"])])
    assert isinstance(failed, ModelError)
    assert isinstance(good, Concluded)
    assert good.event.answer == "Rome"


def test_labels_never_reach_the_evidence() -> None:
    labels = Labels(answers=("Rome",), target="Oslo", attack="pia", poisoned_ranks=(1,))
    bare = claims("Rome", "Oslo", "Rome")
    labelled = replace(bare, labels=labels)
    guard = radar_guard()
    (ready,) = guard.gather([labelled])
    assert isinstance(ready, Ready)
    assert not hasattr(ready.evidence, "labels")
    assert "pia" not in repr(ready.evidence)
    memory = guard.initial_memory()
    assert guard.answer(labelled, memory) == guard.answer(bare, memory)


def test_a_defence_without_needs_costs_one_call() -> None:
    models = scripted_models()
    guard = DefensePipeline("vanilla", build_defense("vanilla"), models)
    event, memory = guard.answer(claims("Rome", "Oslo", "Rome"), guard.initial_memory())
    assert event.answer == "Rome"
    assert memory == Memory(1, None, StandingAnswer("Rome", OBSERVED_AT))
    assert len(models.generator.log) == 1
    assert models.relations.log == models.embedder.log == []


def test_a_batch_of_snapshots_takes_one_call_per_model() -> None:
    models = scripted_models()
    guard = radar_guard(models)
    guard.gather([claims("Rome", "Oslo", query_id=q) for q in "abc"])
    assert [len(batch) for batch in models.generator.log] == [6]
    assert [len(batch) for batch in models.relations.log] == [12]


def test_nothing_to_do_is_no_error() -> None:
    guard = radar_guard()
    assert guard.gather([]) == []
    assert guard.run([]) == []
