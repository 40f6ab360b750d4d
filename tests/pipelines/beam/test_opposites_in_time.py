"""Histories whose pages turn to the opposite: the answer follows, and says that it changed.

RADAR in time with the embedded relation scorer; only what pages say is scripted.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.defenses.radar import Radar
from radarstream.pipelines.round.deciding import weighed
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Prompt
from radarstream.schemas.snapshot import Query, SearchSnapshot
from radarstream.schemas.verdict import MemoryDecision, MemoryVerdict, Verdict
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models

PAGES = 8
GROWTH = "What was the growth rate of the economy?"
DOSE = "How much of the drug may adults take at once?"


def quoted(prompt: Prompt) -> str:
    """What most pages quote, or the answer most often given."""
    claims = [passage.split('"')[1] if '"' in passage else passage for passage in prompt.passages]
    return max(claims, key=claims.count)


def guard() -> DefensePipeline[Any]:
    models = scripted_models(script=quoted)
    return DefensePipeline("radar", Radar(), replace(models, relations=AnswerAgreement()))


def told(question: str, step: int, *claims: str) -> SearchSnapshot:
    texts = [f'Page {n} says "{claim}" today.' for n, claim in enumerate(claims, start=1)]
    at = OBSERVED_AT + timedelta(days=step)
    return make_snapshot(texts, question=question, query_id="turning", observed_at=at)


def history(question: str, *steps: tuple[str, ...]) -> list[AnswerEvent]:
    judge = guard()
    memory, events = judge.initial_memory(), []
    for step, claims in enumerate(steps):
        event, memory = judge.answer(told(question, step, *claims), memory)
        events.append(event)
    return events


TURNS = [
    (GROWTH, "0.3 %", "minus 0.3 percent", 8), (DOSE, "500 mg", "500 g", 6),
    ("Which way does the river flow?", "north-east", "north-west", 8),
]  # fmt: skip


@pytest.mark.parametrize("remembered", [1, 3])
@pytest.mark.parametrize(("question", "old", "new", "turned"), TURNS)
def test_the_answer_follows_its_pages_to_the_opposite(question, old, new, turned, remembered):
    """One step: a memory that most pages contradict loses at once (RADAR, Eq. 13-16)."""
    before = [(old,) * PAGES] * remembered
    after = [(new,) * turned + (old,) * (PAGES - turned)] * 2
    events = history(question, *before, *after)
    assert [event.answer for event in events] == [old] * remembered + [new] * 2
    assert [event.changed for event in events] == [None, *[False] * (remembered - 1), True, False]
    decisions = [event.verdict.memory.decision for event in events[remembered:]]
    assert decisions == [MemoryDecision.FALSIFIED, MemoryDecision.RETAINED]


@pytest.mark.parametrize(
    ("question", "one", "other", "changed"),
    [
        (GROWTH, "0.3 %", "-0.3 %", True),
        (GROWTH, "0.3 %", "0.3 percent", False),
        # the same, more or less exactly
        ("In which city is it?", "Paris", "Paris, France", False),
        ("When was it?", "July 2023", "7 July 2023", False),
        # one entails the other, but what is new is more than wording
        (DOSE, "500 mg", "at least 500 mg", True),
        ("Who won the prize?", "Max Born", "Max Born and Lise Meitner", True),
    ],
)
def test_an_answer_means_the_same_only_if_both_entail_each_other(question, one, other, changed):
    assert told_changed(question, one, other) is changed
    assert told_changed(question, other, one) is changed


def told_changed(question: str, old: str | None, new: str) -> Any:
    verdict = Verdict(new, (), memory=MemoryVerdict(previous_answer=old))
    evidence = Evidence(Query("q", question), OBSERVED_AT, ())
    (decision,) = weighed([evidence], [(verdict, None)], [{}], guard().models, lambda _: None)
    return decision.changed
