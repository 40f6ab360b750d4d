"""The guard: snapshot and memory in, defended answer and memory out."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from radarstream.defenses.radar import Radar
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Ready
from radarstream.schemas.memory import Memory
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from radarstream.schemas.verdict import Abstention, MemoryDecision
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models


def radar_guard() -> DefensePipeline[Any]:
    return DefensePipeline("radar", Radar(), scripted_models(), baseline=build_defense("vanilla"))


def claims(*winners: str | None, step: int = 0) -> SearchSnapshot:
    """One document per winner; None is a document without an answer."""
    texts = [f"The winner: {w}." if w else "Nothing here: I don't know" for w in winners]
    return make_snapshot(texts, observed_at=OBSERVED_AT + timedelta(days=step))


HISTORY = [("Rome", "Rome", "Rome", "Oslo"), ("Rome", "Oslo", "Rome", None), (None, None),
           ("Bern", "Bern", "Bern", "Rome"), (), ("Bern",)]  # fmt: skip


def test_answers_follow_the_evidence_and_say_when_they_change() -> None:
    guard, events = radar_guard(), []
    memory = guard.initial_memory()
    for step, winners in enumerate(HISTORY):
        event, memory = guard.answer(claims(*winners, step=step), memory)
        events.append(event)
    assert [event.answer for event in events] == ["Rome", "Rome", "Rome", "Bern", "Bern", "Bern"]
    assert [event.changed for event in events] == [None, False, False, True, False, False]
    assert ([event.step for event in events], memory.step) == (list(range(6)), 6)


@pytest.mark.parametrize(
    ("winners", "abstention"),
    [((), Abstention.NO_DOCUMENTS), ((None, None, None), Abstention.NO_EVIDENCE),
     (("Rome",), None), ((None, "Rome", None), None)],
)  # fmt: skip
def test_a_first_snapshot_of_any_size(winners, abstention) -> None:
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
    shuffled = replace(ordered, documents=ordered.documents[::-1])
    guard = radar_guard()
    memory = guard.initial_memory()
    assert guard.answer(shuffled, memory) == guard.answer(ordered, memory)


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
