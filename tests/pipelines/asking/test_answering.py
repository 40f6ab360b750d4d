"""The defence that a question names, another answer where the audit wants one, batches, faults."""

import asyncio
from collections import Counter
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.models.wrapping import Call, Replies
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.batching import Batched
from radarstream.pipelines.asking.values import Origin, Reply
from radarstream.schemas.errors import InputError, ModelError, ModelOutageError
from radarstream.schemas.orchestration import Module
from tests.asking import (
    CLAIMS,
    FixedSentinel,
    Passing,
    Prompted,
    Retrieving,
    answerer_with,
    control_of,
    question,
)

AUDITED = {"policy": "static", "modules": (), "always": (Module.AUDIT,)}


def test_a_question_may_name_its_defence(engine) -> None:
    asker = answerer_with(engine, {"policy": "none", "always": ()})
    asked = [question(defense=name) for name in (None, "radar", "majority", "vanilla")]
    replies = asker.answer_all(asked)
    told = [reply.event.defense for reply in replies if isinstance(reply, Reply)]
    assert told == ["voices", "radar", "majority", "vanilla"]


def test_an_answer_that_quotes_is_asked_for_once_more_and_then_masked(engine) -> None:
    prompted, first, last = Prompted(), Passing("regenerate"), Passing("mask")
    parts = answerer_with(engine, AUDITED, prompted=prompted, auditors=(first, last))
    reply = parts.answer(question())
    assert (reply.text, prompted.heard) == ("[masked]", ["unquoting"])
    assert len(first.heard) == len(last.heard) == 1
    audit = reply.orchestration.hooks[-1]
    assert (audit.module, audit.detail) == (Module.AUDIT, "mask")


def test_questions_that_cannot_be_asked_fail_alone(engine) -> None:
    asker = answerer_with(engine, {"policy": "none", "always": ()})
    wrong = [question(" "), question("x" * 2_001), question(wanted=0)]
    wrong.append(replace(question(), origin="corpus"))
    *failed, answered = asker.answer_all([*wrong, question()])
    assert [type(outcome) for outcome in failed] == [InputError] * 4
    assert isinstance(answered, Reply)
    assert asker.answer_all([]) == []


def test_an_answer_rests_on_as_many_documents_as_are_wanted(engine) -> None:
    reply = answerer_with(engine, {"policy": "none", "always": ()}).answer(question(wanted=2))
    assert len(reply.documents) == len(reply.event.verdict.documents) == 2


def test_where_a_batch_breaks_nobody_is_asked_for_who_left() -> None:
    batches: list[list[str]] = []

    def breaking(items: list[str]) -> list[str | Exception]:
        batches.append(items)
        if len(items) > 1:
            leaving.get_loop().call_soon_threadsafe(leaving.cancel)
            assert gone.wait(20)
            raise ZeroDivisionError
        return [*items]

    async def ask() -> list[str | BaseException]:
        nonlocal leaving
        together = Batched[str, str](breaking, "asker")
        staying = [asyncio.create_task(together.submit(name)) for name in ("one", "two")]
        leaving = asyncio.create_task(together.submit("left"))
        leaving.add_done_callback(lambda _: gone.set())
        return await asyncio.gather(*staying, leaving, return_exceptions=True)

    leaving: asyncio.Task[str]
    gone = Event()
    *replies, failed = asyncio.run(asyncio.wait_for(ask(), 30))
    assert replies == ["one", "two"] and isinstance(failed, asyncio.CancelledError)
    assert batches == [["one", "two", "left"], ["one"], ["two"]]


@given(
    waiting=st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40),
    at_once=st.integers(1, 6),
)
def test_whoever_waits_has_every_turn_that_others_have(waiting, at_once) -> None:
    """Between two turns of an asker nobody else has two; what was given up takes none."""
    served: list[str] = []

    def serve(items: list[str]) -> list[str]:
        served.extend(items)
        return items

    async def ask() -> None:
        together = Batched[str, str](serve, "asker", at_once)
        tasks = [asyncio.create_task(together.submit(name, name)) for name, _ in waiting]
        await asyncio.sleep(0)
        for task, (_, stays) in zip(tasks, waiting, strict=True):
            if not stays:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(ask())
    assert Counter(served) == Counter(name for name, stays in waiting if stays)
    for place, name in enumerate(served):
        if name in (later := served[place + 1 :]):
            between = later[: later.index(name)]
            assert len(between) == len(set(between))


# --- models that fail at every single call


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


def test_whichever_call_fails_an_answer_is_defended_or_there_is_none(engine) -> None:
    answered, (parts, failing) = 0, answerer_that_fails(engine, None)
    parts.answer(question(origin=Origin.CORPUS))
    total = failing.count
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
