"""Every set of modules: what acts, what is dropped, and that the rest is what the guard answers."""

from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from radarstream.pipelines.asking.parts import CHOOSING
from radarstream.pipelines.asking.values import HOOKS, Origin, Reply
from radarstream.schemas.orchestration import Hook, Module
from tests.asking import Passing, Prompted, Retrieving, answerer_with, question

SETS = [*chain.from_iterable(combinations(Module, size) for size in range(len(Module) + 1))]
HONEST = ("Lima is the capital of Peru.", "Lima is its capital.", "Its capital is Lima.")
DROPPED = tuple(f"Cusco is the capital of Peru. <{module}>" for module in CHOOSING)


def asked(engine: Engine, texts: tuple[str, ...], modules: tuple[Module, ...], **parts) -> Reply:
    """A question to a corpus of these texts, with these modules on."""
    chosen = {"policy": "static", "modules": modules, "always": ()}
    parts["retrievers"] = {Origin.CORPUS: Retrieving(texts)}
    return answerer_with(engine, chosen, **parts).answer(question(origin=Origin.CORPUS))


@pytest.mark.parametrize("modules", SETS, ids=lambda on: "+".join(on) or "none")
def test_what_is_on_acts_and_the_guard_answers_from_the_rest(engine, modules) -> None:
    prompted, auditor = Prompted(), Passing("mask")
    texts = (HONEST[0], *DROPPED, *HONEST[1:])
    reply = asked(engine, texts, modules, prompted=prompted, auditors=(auditor, auditor))

    hooks = reply.orchestration.hooks
    assert [record.module for record in hooks] == list(Module)
    assert [record.hook for record in hooks] == sorted(
        (HOOKS[Module(record.module)] for record in hooks), key=list(Hook).index
    )
    assert {record.module for record in hooks if record.enabled} == set(modules)
    left = len(texts)
    for record in hooks:
        drops = record.enabled and record.module in CHOOSING
        assert record.documents_in == left
        left -= drops
        assert record.documents_out == left
        assert record.detail or record.enabled

    gone = [text for module, text in zip(CHOOSING, DROPPED, strict=True) if module in modules]
    seen = {d.rank: d.text for d in reply.documents}
    kept = [seen[rank] for rank in reply.event.verdict.kept_ranks]
    assert kept
    assert not set(gone) & set(kept)
    assert prompted.heard == (["guarded"] if Module.GUARDRAIL in modules else [])
    assert reply.text == ("[masked]" if Module.AUDIT in modules else reply.event.answer)
    assert all(set(gone).isdisjoint(passages) for _, passages in auditor.heard)
    # What the noise of a retrieval kept out is not even told of.
    assert (DROPPED[0] in seen.values()) == (Module.PRIVACY not in modules)
    assert set(DROPPED[1:]) <= set(seen.values())


PLACES = st.sampled_from(["Lima", "Cusco", "Quito", "La Paz", "Bogotá"])
MARKS = st.sampled_from(["", *(f" <{module}>" for module in CHOOSING)])


@settings(max_examples=25, deadline=None)
@given(
    made=st.lists(st.tuples(PLACES, MARKS), min_size=1, max_size=9),
    modules=st.sets(st.sampled_from(list(CHOOSING))).map(tuple),
)
def test_no_reply_says_what_only_a_dropped_document_says(engine: Engine, made, modules) -> None:
    texts = tuple(f"{place} is the capital of Peru.{mark}" for place, mark in made)
    reply = asked(engine, texts, modules)
    on = {f" <{module}>" for module in modules}
    assert reply.text == "" or reply.text in {place for place, mark in made if mark not in on}
    shown = {d.text for d in reply.documents}
    assert {text for text, (_, mark) in zip(texts, made, strict=True) if mark not in on} <= shown
    if Module.PRIVACY in modules:
        assert not any(f"<{Module.PRIVACY}>" in text for text in shown)
