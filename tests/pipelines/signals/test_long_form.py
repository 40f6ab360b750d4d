"""Answers at length without a change to any defence or attributor."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.connectors.models.wrapping import Wrapped
from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import (
    LONG_FORM,
    answering_at_length,
    ask_at_length,
    build_prompt,
)
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.prompt import Completion, Prompt, Task
from radarstream.schemas.tasks import TASKS
from tests.builders import make_case, make_snapshot

QUESTION = "Tell me a bio of Ann Lee."
PAGES = ["Ann Lee was born in Bern in 1900. She sang.", "It rained.", "Ann Lee was a singer."]


at_length = partial(Wrapped, around=ask_at_length)


class Lines:
    """Replies in two lines; fails on prompts with "broken" in a passage."""

    model_id = "lines"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        outcomes = [
            ModelError("broken")
            if any("broken" in p for p in prompt.passages)
            else Completion(f"{prompt.task.value}\n\nof {len(prompt.passages)}", 7, 5, 0.5)
            for prompt in prompts
        ]
        if any(isinstance(outcome, ModelError) for outcome in outcomes):
            raise PartialModelError(outcomes)
        return [outcome for outcome in outcomes if isinstance(outcome, Completion)]


@pytest.mark.parametrize("task", Task)
def test_prompts_keep_question_and_passages(task: Task) -> None:
    scripted = ScriptedGenerator(script=lambda _: "x")
    passages = ["a"] if TASKS[task].one_passage else ["a", "b"]
    prompt = build_prompt(task, QUESTION, passages, "before")
    at_length(scripted).complete([prompt])
    (asked,) = scripted.log[0]
    kept = (asked.question, asked.passages, asked.previous_answer)
    assert kept == (prompt.question, prompt.passages, "before")
    if task not in LONG_FORM:
        assert asked == prompt
        return
    spec = TASKS[LONG_FORM[task]]
    assert (asked.instruction, asked.shots) == (spec.instruction, spec.shots)
    assert asked.max_tokens == spec.max_tokens > prompt.max_tokens


def test_replies_come_on_one_line_with_their_cost() -> None:
    wrapped = at_length(Lines())
    short, other = (
        build_prompt(task, QUESTION, ["a"])
        for task in (Task.ATOMIC_ANSWER, Task.ANSWER_WITH_RATIONALE)
    )
    replies = wrapped.complete([short, other])
    assert replies == [
        Completion("describe_from_passage of 1", 7, 5),
        Completion("answer_with_rationale\n\nof 1", 7, 5),
    ]
    assert (replies[0].seconds, wrapped.model_id) == (0.5, "lines")


def test_a_failed_prompt_stays_a_failure() -> None:
    prompts = [build_prompt(Task.ATOMIC_ANSWER, QUESTION, [text]) for text in ("a", "broken")]
    with pytest.raises(PartialModelError) as caught:
        at_length(Lines()).complete(prompts)
    fine, failed = caught.value.outcomes
    assert fine == Completion("describe_from_passage of 1", 7, 5)
    assert isinstance(failed, ModelError)


def test_an_attributor_compares_an_answer_at_length_with_answers_at_length() -> None:
    tokens = ScriptedTokens(ScriptedGenerator())
    models = Models(ScriptedGenerator(), ScriptedRelations(), ScriptedEmbedder(), tokens)
    case = make_case([f"Ann Lee sang {n}." for n in range(9)], answer="Ann Lee sang", k=3)
    drive([RagOrigin().attribute(case)], answering_at_length(models))
    asked = {prompt.task for batch in models.generator.log for prompt in batch}
    assert asked == {Task.DESCRIBE_UNAIDED, Task.DESCRIBE_FROM_DOCUMENTS}
    (batch,) = tokens.log
    scored = {prompt.task for query in batch for prompt in query.prompts}
    assert scored == {Task.PREDICT_QUESTION, Task.DESCRIBE_FROM_PASSAGE}
    assert answering_at_length(replace(models, tokens=None)).tokens is None


@pytest.mark.parametrize("name", ["vanilla", "radar", "reliability_rag", "robust_rag"])
def test_a_defence_answers_at_length_unchanged(name: str) -> None:
    models = Models(at_length(ScriptedGenerator()), ScriptedRelations(), ScriptedEmbedder())
    guard = DefensePipeline(name, build_defense(name), models)
    event, _ = guard.answer(make_snapshot(PAGES, question=QUESTION), guard.initial_memory())
    assert event.answer
    if name == "vanilla":
        assert event.answer == (
            "Title 1 Ann Lee was born in Bern in 1900. Title 3 Ann Lee was a singer"
        )
