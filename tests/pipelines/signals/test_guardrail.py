"""The guardrail prompt: in every prompt with passages, both renderings, and the cache's key."""

from dataclasses import replace

import numpy as np
import pytest

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.models.rendering import chat_messages, completion_text
from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import ScriptedGenerator, ScriptedTokens
from radarstream.pipelines.signals.parsing import says_nothing
from radarstream.pipelines.signals.prompts import (
    answering_at_length,
    build_prompt,
    guarded,
    instructed,
)
from radarstream.pipelines.signals.relation_judge import JudgedRelations
from radarstream.schemas.prompt import AnswerPair, ContinuationQuery, Prompt, Task
from radarstream.schemas.tasks import ADDITIONS, DO_NOT_QUOTE, GUARDRAIL, TASKS
from tests.scripted_models import scripted_models

QUESTION = "Who won?"
SHOWS_DOCUMENTS = [
    Task.ATOMIC_ANSWER, Task.ANSWER_FROM_DOCUMENTS, Task.SYNTHESISE_ANSWERS,
    Task.ANSWER_FROM_KEYWORDS, Task.ANSWER_WITH_RATIONALE, Task.CONSOLIDATE_PASSAGES,
    Task.DESCRIBE_FROM_PASSAGE, Task.DESCRIBE_FROM_DOCUMENTS, Task.SYNTHESISE_DESCRIPTIONS,
    Task.DESCRIBE_FROM_KEYWORDS,
]  # fmt: skip
JUDGES = [task for task, spec in TASKS.items() if spec.parts]


def prompt_of(task: Task) -> Prompt:
    spec = TASKS[task]
    count = len(spec.parts) or 1
    return build_prompt(task, QUESTION, [f"The winner: Rome {i}." for i in range(count)])


def asked_by(generator: ScriptedGenerator) -> list[Prompt]:
    return [prompt for batch in generator.log for prompt in batch]


@pytest.mark.parametrize("task", SHOWS_DOCUMENTS)
def test_both_renderings_show_it_before_anything_untrusted(task: Task):
    prompt = instructed(prompt_of(task), [GUARDRAIL])
    completion, chat = completion_text(prompt), chat_messages(prompt)
    assert completion.index(GUARDRAIL) < completion.index("Rome 0")
    assert chat[0]["role"] == "system"
    assert GUARDRAIL in chat[0]["content"]
    assert not any(GUARDRAIL in message["content"] for message in chat[1:])


def test_judges_stay_as_they_are_and_without_passages_there_is_nothing_to_guard():
    bare = (Task.RECALL_PASSAGE, Task.ANSWER_UNAIDED, Task.BARE_TEXT)
    for prompt in (*map(prompt_of, JUDGES), *(build_prompt(task, QUESTION, []) for task in bare)):
        assert instructed(prompt, [GUARDRAIL]) is prompt


def test_nothing_else_of_a_prompt_changes():
    prompt = prompt_of(Task.ANSWER_FROM_DOCUMENTS)
    told = instructed(prompt, [GUARDRAIL, DO_NOT_QUOTE])
    assert told.instruction == f"{prompt.instruction} {GUARDRAIL} {DO_NOT_QUOTE}"
    assert replace(told, instruction=prompt.instruction) == prompt


def test_replies_of_guarded_models_have_entries_of_their_own(engine):
    cached = Cached(ScriptedGenerator(), ResponseCache(engine))
    models = replace(scripted_models(), generator=cached)
    for asked in (models, guarded(models), guarded(models), models):
        asked.generator.complete([prompt_of(Task.ANSWER_FROM_DOCUMENTS)])
    assert (cached.calls, cached.hits) == (2, 2)


def test_answers_at_length_are_guarded_too():
    recording = ScriptedGenerator()
    models = guarded(replace(scripted_models(), generator=recording))
    answering_at_length(models).generator.complete([prompt_of(Task.ANSWER_FROM_DOCUMENTS)])
    (asked,) = asked_by(recording)
    assert asked.task is Task.DESCRIBE_FROM_DOCUMENTS
    assert asked.instruction.endswith(GUARDRAIL)


def test_token_probabilities_are_those_of_the_guarded_prompt():
    seen: list[Prompt] = []

    class Tokens(ScriptedTokens):
        def log_probs(self, queries):
            seen.extend(prompt for query in queries for prompt in query.prompts)
            return [np.zeros((len(query.prompts), 1)) for query in queries]

    models = guarded(replace(scripted_models(), tokens=Tokens()))
    prompt = prompt_of(Task.ANSWER_FROM_DOCUMENTS)
    assert models.tokens is not None
    models.tokens.log_probs([ContinuationQuery((prompt, prompt), "Rome")])
    assert [one.instruction.endswith(GUARDRAIL) for one in seen] == [True] * 2


def test_a_relation_judge_is_told_nothing():
    recording = ScriptedGenerator()
    relations = JudgedRelations(recording, AnswerAgreement())
    models = guarded(replace(scripted_models(), generator=recording, relations=relations))
    models.relations.probabilities([AnswerPair(QUESTION, "Ada won it all", "It was a draw")])
    assert {prompt.task for prompt in asked_by(recording)} == {Task.JUDGE_RELATION}
    assert not any(GUARDRAIL in prompt.instruction for prompt in asked_by(recording))


@pytest.mark.parametrize("sentence", ADDITIONS)
def test_a_reply_that_repeats_it_says_nothing(sentence: str):
    assert says_nothing(sentence, QUESTION)
