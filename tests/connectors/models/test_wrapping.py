"""Functions around the calls of a model: what goes in and what comes out, for every port."""

from collections.abc import Sequence
from typing import Any

import pytest

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.connectors.models.wrapping import Call, Method, Replies, Wrapped, ask
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.prompt import AnswerPair, Completion, ContinuationQuery, Prompt, Task

PROMPTS = [Prompt(Task.ATOMIC_ANSWER, "", (), "Who won?", (f"It was {w}.",), 9) for w in "AB"]
MODELS: dict[str, Any] = {
    Method.COMPLETE: ScriptedGenerator, Method.PROBABILITIES: ScriptedRelations,
    Method.EMBED: ScriptedEmbedder, Method.LOG_PROBS: ScriptedTokens,
}  # fmt: skip
REQUESTS: dict[str, list[Any]] = {
    Method.COMPLETE: PROMPTS,
    Method.PROBABILITIES: [AnswerPair("q", "a", "a"), AnswerPair("q", "a", "b")],
    Method.EMBED: ["one", "two"],
    Method.LOG_PROBS: [ContinuationQuery((prompt,), "A") for prompt in PROMPTS],
}


def same(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    return type(found) is type(expected) and repr(list(found)) == repr(list(expected))


@pytest.mark.parametrize("method", MODELS)
def test_the_function_sees_every_call_and_may_ask_in_any_order(method: str):
    seen: list[tuple[Method, list[Any]]] = []

    def backwards(call: Call) -> Replies:
        seen.append((call.method, list(call.requests)))
        return [call.ask([request])[0] for request in reversed(call.requests)][::-1]

    model, plain = Wrapped(MODELS[method](), backwards), MODELS[method]()
    requests = REQUESTS[method]
    assert same(getattr(model, method)(requests), getattr(plain, method)(requests))
    assert seen == [(method, requests)]
    assert (model.model_id, model.wrapped.model_id) == (plain.model_id, plain.model_id)
    assert len(getattr(model, method)([])) == 0
    assert len(seen) == 1  # nothing to ask is no call


@pytest.mark.parametrize("method", MODELS)
def test_a_failed_call_and_a_reply_too_few_are_model_errors(method: str):
    class Short:
        model_id = "short"

        def __getattr__(self, name: str) -> Any:
            return lambda requests: getattr(MODELS[method](), name)(requests[1:])

    fails = MODELS[method](fail_on_calls=frozenset({1}))
    for model, told in ((fails, "scripted failure"), (Short(), "short gave 1 answers to 2")):
        with pytest.raises(ModelError, match=told):
            getattr(Wrapped(model, Call.ask), method)(REQUESTS[method])


def test_prompts_fail_on_their_own_through_two_functions():
    failure = ModelError("no answer")

    class Partial:
        model_id = "partial"

        def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
            raise PartialModelError([Completion("A"), failure])

    seen: list[Replies] = []

    def note(call: Call) -> Replies:
        seen.append(call.ask())
        return seen[-1]

    model = Wrapped(Wrapped(Partial(), note), note, model_id="another")
    with pytest.raises(PartialModelError) as raised:
        model.complete(PROMPTS)
    assert [list(replies) for replies in (*seen, raised.value.outcomes)] == [
        [Completion("A"), failure]
    ] * 3
    assert model.model_id == "another"


def test_a_method_of_a_plug_in_is_called_like_any_other():
    class Counting:
        model_id = "counting"

        def lengths(self, texts: Sequence[str]) -> list[int]:
            return [len(text) for text in texts]

    seen: list[str] = []

    def note(call: Call) -> Replies:
        seen.append(call.method)
        return call.ask()

    for model, times in ((Counting(), 0), (Wrapped(Wrapped(Counting(), note), note), 2)):
        assert ask(model, "lengths", ["a", "bcd"]) == [1, 3]
        assert seen == ["lengths"] * times
