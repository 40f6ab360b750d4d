"""Models that fail at every single call, and what a batch makes of them."""

from dataclasses import replace
from typing import Any

import pytest

from radarstream.connectors.models.wrapping import Call, Replies
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.values import Origin, Reply
from radarstream.schemas.errors import ModelError, ModelOutageError
from radarstream.schemas.orchestration import Module
from tests.asking import (
    CLAIMS,
    FixedSentinel,
    Passing,
    Retrieving,
    answerer_with,
    control_of,
    question,
)

TEXTS = (*CLAIMS, f"Cusco. <{Module.TRUSTRAG}>")


class Failing:
    """Counts calls of models; the one at `place` fails."""

    def __init__(self, place: int | None) -> None:
        self.place, self.count = place, 0

    def __call__(self, call: Call) -> Replies:
        self.count += 1
        if self.count - 1 == self.place:
            raise ModelOutageError("the service is away")
        return call.ask()


def answerer_that_fails(engine, place: int | None) -> tuple[Answerer, Failing]:
    """An adaptive asker with a Sentinel that asks a model; one call of a model fails."""
    chosen = {"policy": "adaptive", "always": (Module.TRUSTRAG, Module.AUDIT)}
    auditors = (Passing("regenerate"), Passing("mask"))
    parts = answerer_with(
        engine, chosen, retrievers={Origin.CORPUS: Retrieving(TEXTS)}, auditors=auditors
    )
    failing = Failing(place)
    models = parts.pipeline.models.wrapped(failing)
    pipeline = replace(parts.pipeline, models=models)
    control = control_of(models, FixedSentinel(asks_model=True))
    return replace(parts, pipeline=pipeline, control=control), failing


def calls_of(engine) -> int:
    """How often models are asked for one question."""
    parts, failing = answerer_that_fails(engine, None)
    parts.answer(question(origin=Origin.CORPUS))
    return failing.count


def test_whichever_call_fails_an_answer_is_defended_or_there_is_none(engine) -> None:
    answered = 0
    total = calls_of(engine)
    assert total >= 8
    for place in range(total):
        parts, _ = answerer_that_fails(engine, place)
        (outcome,) = parts.answer_all([question(origin=Origin.CORPUS)])
        if isinstance(outcome, Reply):
            answered += 1
            on = {record.module for record in outcome.orchestration.hooks if record.enabled}
            assert {Module.TRUSTRAG, Module.AUDIT} <= on
            assert "<" not in outcome.text
            assert outcome.text == "[masked]"
        else:
            assert isinstance(outcome, ModelError)
    assert 0 < answered < total  # the Sentinel's calls, the signals, and the second answer


def test_questions_of_one_batch_share_calls(engine) -> None:
    def calls(count: int) -> int:
        parts, failing = answerer_that_fails(engine, None)
        asked = [question(f"Who leads {n}?", origin=Origin.CORPUS) for n in range(count)]
        replies = parts.answer_all(asked)
        assert [reply.question for reply in replies] == asked  # type: ignore[union-attr]
        return failing.count

    assert calls(9) == calls(1)


def test_a_retrieval_that_fails_costs_its_own_question_alone(engine) -> None:
    class Away:
        def __call__(self, *_: Any) -> Any:
            raise ModelError("no embedder")

    parts = answerer_with(engine, {"policy": "none", "always": ()})
    retrievers = {**parts.retrievers, Origin.CORPUS: Away()}
    asker = replace(parts, retrievers=retrievers)
    failed, answered = asker.answer_all([question(origin=Origin.CORPUS), question()])
    assert isinstance(failed, ModelError)
    assert isinstance(answered, Reply)
    with pytest.raises(ModelError, match="no embedder"):
        asker.answer(question(origin=Origin.CORPUS))
