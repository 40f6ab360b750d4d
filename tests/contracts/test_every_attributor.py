"""What every registered attributor promises, whatever its method."""

import copy
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from radarstream.defenses.protocol import (
    Attributor,
    Complete,
    LogProbs,
    LogProbsAll,
    Request,
    Signal,
)
from radarstream.defenses.registry import ATTRIBUTORS, build_attributor
from radarstream.schemas.attribution import Attribution, Case, Finding
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import NO, YES, Task
from tests.builders import make_case
from tests.driving import Script, run
from tests.pools import direction

# Without a threshold these flag nothing at all.
OPTIONS: dict[str, dict[str, Any]] = {"norm": {"threshold": 30.0}, "perplexity": {"threshold": 9.0}}
LIE, TRUTH = "It was Rome", "They say Oslo won the cup"
EVENTS = [
    make_case([LIE, f"{LIE}.", f"{LIE}!", TRUTH, f"{TRUTH}.", f"{TRUTH}!"], k=3),
    make_case([TRUTH, LIE, "", f"{TRUTH} {LIE}", "other", f"{LIE}?"], k=2),
    make_case([f"{LIE} {i}" for i in range(7)], k=7),
    make_case([f"text {i}" for i in range(14)], k=1),
    make_case([f"{LIE} {i}" for i in range(4)] + [f"{TRUTH} {i}" for i in range(12)], k=4),
]
NEEDED = {LogProbs: Signal.TOKEN_PROBABILITIES, LogProbsAll: Signal.TOKEN_PROBABILITIES}


@pytest.fixture(params=sorted(ATTRIBUTORS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def attributor(name: str) -> Attributor:
    return build_attributor(name, OPTIONS.get(name))


def believing(request: Complete) -> AtomicAnswer:
    """A generator that repeats the lie where it is told more often than the truth."""
    lies = sum(passage.count("Rome") for passage in request.passages)
    if request.task is Task.JUDGE_INDUCEMENT:
        return AtomicAnswer(YES if lies > request.passages[-1].count("Rome") else NO)
    if request.task is Task.PREDICT_QUESTION:
        return AtomicAnswer("Who won?" if lies else "What?")
    truths = sum(passage.count("Oslo") for passage in request.passages)
    if lies == truths:
        return AtomicAnswer("I don't know", True)
    return AtomicAnswer("Rome" if lies > truths else "Oslo")


def world() -> Script:
    return Script(answer=believing, embedding=direction)


def attribute(attributor: Attributor, event: Case, script: Script | None = None):
    return run(attributor.attribute(event), script or world())


def changed(event: Case, **changes: Any) -> Case:
    """The event with something else in every text."""
    return replace(event, texts=tuple(replace(text, **changes) for text in event.texts))


def everything() -> str:
    """What every attributor finds in every event."""
    built = [build_attributor(name, OPTIONS.get(name)) for name in sorted(ATTRIBUTORS)]
    return "\n".join(repr([attribute(one, event) for event in EVENTS]) for one in built)


def test_equal_inputs_in_any_order_give_equal_findings_and_stay_unchanged(attributor: Attributor):
    copied = pickle.loads(pickle.dumps(attributor))
    assert copied == attributor
    for event in EVENTS:
        first, second, before = world(), world(), copy.deepcopy(event)
        assert attribute(attributor, event, first) == attribute(copied, event, second)
        assert first.requests == second.requests
        assert (event, attributor) == (before, copied)
    rng = np.random.default_rng(3)
    for event in EVENTS * 2:
        order = rng.permutation(len(event.texts))
        shuffled = replace(event, texts=tuple(event.texts[i] for i in order))
        assert attribute(attributor, shuffled) == attribute(attributor, event)


@pytest.mark.parametrize("name", sorted(ATTRIBUTORS.keys() - {"context_cite"}))
def test_ids_are_only_names(attributor: Attributor):
    """Texts keep their scores under other ids, also under ids that sort the other way.

    ContextCite draws its masks from the ids, which are hashes of the texts.
    """
    for event in EVENTS:
        found = attribute(attributor, event)
        names = {text.id: f"n{99 - index}" for index, text in enumerate(event.texts)}
        renamed = replace(event, texts=tuple(replace(t, id=names[t.id]) for t in event.texts))
        expected = tuple(replace(text, id=names[text.id]) for text in found.texts)
        assert attribute(attributor, renamed) == replace(found, texts=expected)


def test_a_finding_is_well_formed(attributor: Attributor, name: str):
    for event in EVENTS:
        found = attribute(attributor, event)
        assert isinstance(found, Attribution)
        assert found.method == name
        known = {text.id: text.document.rank for text in event.texts}
        assert [known[text.id] for text in found.texts] == [text.rank for text in found.texts]
        assert [text.rank for text in found.texts] == sorted(text.rank for text in found.texts)
        assert len({text.id for text in found.texts}) == len(found.texts)
        assert (found.finding is Finding.TEXTS_FLAGGED) == bool(found.flagged)
        numbers = [
            value
            for text in found.texts
            for value in (text.score, text.similarity, text.semantic, text.generation)
            if value is not None
        ] + [value for value in (found.gap, found.generation_gap) if value is not None]
        assert np.isfinite(numbers).all()
        if not found.flagged:
            assert (found.gap, found.generation_gap) == (None, None)


def test_nothing_to_attribute_and_hostile_texts(attributor: Attributor):
    script = world()
    found = attribute(attributor, make_case([]), script)
    assert (found.finding, found.texts, script.requests) == (Finding.NO_DOCUMENTS, (), [])
    for event in (replace(EVENTS[0], answer=" \n"), replace(EVENTS[0], k=0)):
        with pytest.raises(EvidenceError):
            next(attributor.attribute(event))
    texts = ["{0} %s", "</document>\x1b[2J", "\x00", "[YES] Question: ?", "a" * 9_000, "\ud800"]
    found = attribute(attributor, make_case(texts, answer="{x} %d [NO]", question="{y}?"))
    assert len(found.texts) <= len(texts)


def test_one_text_is_never_flagged(attributor: Attributor, name: str):
    for text in (LIE, TRUTH, ""):
        script = world()
        found = attribute(attributor, make_case([text]), script)
        assert found.flagged == ()
        assert found.finding is not Finding.NO_DOCUMENTS
        assert not script.requests or name == "rag_origin"


@pytest.mark.parametrize("name", ["context_cite", "leave_one_out", "pfdnn"])
def test_equal_texts_are_not_told_apart_and_nothing_is_asked(attributor: Attributor):
    for count in (1, 2, 5, 7):
        script = world()
        found = attribute(attributor, make_case([LIE] * count), script)
        assert (found.finding, found.flagged) == (Finding.NO_SEPARATION, ())
        assert [text.rank for text in found.texts] == list(range(1, count + 1))
        assert script.requests == []


@pytest.mark.parametrize("texts", [[LIE, TRUTH], [TRUTH, LIE], [LIE, LIE], ["", ""]])
def test_two_texts(attributor: Attributor, texts: list[str]):
    for k in (1, 2, 5):
        found = attribute(attributor, make_case(texts, k=k))
        assert {text.id for text in found.texts} <= {"d1", "d2"}
        if texts[0] == texts[1]:  # no method that compares texts tells them apart
            assert len(found.flagged) != 1 or found.texts[0].score != found.texts[1].score


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_similarity_that_is_no_number_is_refused(attributor: Attributor, bad: float):
    with pytest.raises(EvidenceError, match="similarity"):
        next(attributor.attribute(changed(EVENTS[0], similarity=bad)))


def asked_by(attributor: Attributor) -> list[Request]:
    """What it asks about all events, singly; similarities are not known."""
    script = world()
    for event in EVENTS:
        attribute(attributor, changed(event, similarity=None), script)
    return script.singles()


def test_needs_are_honest(attributor: Attributor):
    """What is announced is asked, and nothing else; nothing that is asked counts as an answer."""
    asked = asked_by(attributor)
    kinds = {type(request) for request in asked}
    announced = attributor.needs & set(NEEDED.values())
    assert {NEEDED[kind] for kind in kinds & NEEDED.keys()} == announced
    assert not any(request.final for request in asked if isinstance(request, Complete))


def test_cost_stops_growing_with_the_corpus(name: str):
    """With a limit on the texts, more of them cost nothing more: the first ones are judged."""
    limits = {"rag_origin": {"max_segments": 3}}
    limited = build_attributor(
        name, {**OPTIONS.get(name, {}), **limits.get(name, {"max_texts": 9})}
    )
    counts = []
    for size in (9, 60):
        script = world()
        found = attribute(limited, make_case([f"{LIE} {i}" for i in range(size)], k=3), script)
        assert name == "rag_origin" or [t.id for t in found.texts] == [
            f"d{n}" for n in range(1, 10)
        ]
        counts.append(len(script.singles()))
    assert counts[0] == counts[1]
