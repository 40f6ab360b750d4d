"""Attributors on scripted models: lockstep, failures that stay their own, needs."""

from dataclasses import replace

import pytest

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.lab.attribution.events import attribute_all
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import answering_at_length
from radarstream.schemas.attribution import Case, Finding, RankedText
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.snapshot import Document, Query

QUESTION = "Who is the President of {}?"
LANDS = ("Freedonia", "Sylvania", "Osterlich")


def case(land: str, poisoned: int = 3, k: int = 3) -> Case:
    """Chicolini, as the first texts claim; the others know better."""
    question = QUESTION.format(land)
    texts = [
        f"{question} In {1990 + i} Chicolini became President of {land}." for i in range(poisoned)
    ]
    texts += [f"Rufus Firefly is the President of {land}, says page {i}." for i in range(9)]
    ranked = tuple(
        RankedText(f"{land}-{rank}", Document(rank, text), 1.0 / rank)
        for rank, text in enumerate(texts, start=1)
    )
    return Case(Query(land, question), "Chicolini", ranked, k)


def models_with_tokens(**options: object) -> Models:
    generator = ScriptedGenerator(**options)
    tokens = ScriptedTokens(ScriptedGenerator())
    return Models(generator, ScriptedRelations(), ScriptedEmbedder(), tokens)


def test_a_failing_segment_narrows_nothing_silently() -> None:
    def script(prompt: Prompt) -> str:
        if any("page 2" in passage for passage in prompt.passages):
            raise ModelError("failed")
        return "Rufus Firefly"

    (found,) = attribute_all(RagOrigin(), [case("Sylvania")], models_with_tokens(script=script))
    assert found.flagged == ("Sylvania-1", "Sylvania-2", "Sylvania-3")
    assert "segment 2" in found.detail


def test_failing_scores_are_no_attribution_and_cost_the_others_nothing() -> None:
    class Failing(ScriptedTokens):
        def log_probs(self, queries):
            if any("Sylvania" in str(query) for query in queries):
                raise ModelError("failed")
            return super().log_probs(queries)

    models = replace(models_with_tokens(), tokens=Failing())
    first, second, third = attribute_all(RagOrigin(), [case(x) for x in LANDS], models)
    assert isinstance(second, ModelError)
    assert first.finding is third.finding is Finding.TEXTS_FLAGGED


def test_missing_token_probabilities_are_a_mistake_of_the_settings() -> None:
    models = replace(models_with_tokens(), tokens=None)
    with pytest.raises(ConfigurationError, match="RagOrigin needs token probabilities"):
        attribute_all(RagOrigin(), [case("Sylvania")], models)
    (found,) = attribute_all(RagOrigin(scores=("similarity",)), [case("Sylvania")], models)
    assert found.flagged == ("Sylvania-1",)


def test_an_answer_at_length_is_compared_with_answers_at_length() -> None:
    models = models_with_tokens()
    attribute_all(RagOrigin(), [case("Sylvania")], answering_at_length(models))
    asked = {prompt.task for batch in models.generator.log for prompt in batch}
    assert asked == {Task.DESCRIBE_UNAIDED, Task.DESCRIBE_FROM_DOCUMENTS}
    (batch,) = models.tokens.log
    scored = {prompt.task for query in batch for prompt in query.prompts}
    assert scored == {Task.PREDICT_QUESTION, Task.DESCRIBE_FROM_PASSAGE}
    assert answering_at_length(replace(models, tokens=None)).tokens is None
