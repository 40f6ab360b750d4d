"""What every event says of the support of its answer; what production does with thin evidence."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.pipelines.pages.verdict_words import judged_in_words
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.schemas.codec import decode_stored, encode_state
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Memory, StandingAnswer
from radarstream.schemas.snapshot import LONG_FORM, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention, MemoryDecision
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models

STORY = [
    ("Rome", "Rome", "Rome", "Rome"), ("Bern",), (), (None, None),
    ("Rome", "Rome", "Bern", "Rome"), ("Bern", "Bern", "Bern", "Bern", "Bern"),
]  # fmt: skip


@pytest.fixture(params=sorted(DEFENSES))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def guard_of(name: str, **options: Any) -> DefensePipeline[Any]:
    models = scripted_models()
    models = replace(models, tokens=ScriptedTokens(models.generator))
    return DefensePipeline(name, build_defense(name, options), models)


def claims(winners: Sequence[str | None], step: int = 0, *, sites: int = 9) -> SearchSnapshot:
    """One document per winner, each with words of its own, on so many sites in turn."""
    texts = [
        f"Page {n} of {step} in {n} words: {w}." if w else f"Page {n}: I don't know"
        for n, w in enumerate(winners)
    ]
    urls = [f"https://s{place % sites}.example/{place}" for place in range(len(texts))]
    return make_snapshot(texts, observed_at=OBSERVED_AT + timedelta(days=step), urls=urls)


def told(
    guard: DefensePipeline[Any], snapshots: Sequence[SearchSnapshot]
) -> list[tuple[AnswerEvent, Memory[Any]]]:
    memory, found = guard.initial_memory(), []
    for snapshot in snapshots:
        event, memory = guard.answer(snapshot, memory)
        found.append((event, memory))
    return found


def story() -> list[SearchSnapshot]:
    return [claims(winners, step) for step, winners in enumerate(STORY)]


def test_no_event_without_a_status(name: str) -> None:
    standing = None
    for event, memory in told(guard_of(name), story()):
        assert (event.status is AnswerStatus.ABSTAINED) == (event.abstention is not None)
        assert (event.support is None) == (event.verdict.weighed is None)
        assert (event.answer == "") == (event.abstention is not None)
        if event.support is not None:
            support = event.support
            assert support.sites_for <= len(support.ranks_for)
            assert support.rival_sites <= len(support.ranks_against)
            verdict = event.verdict
            sides = Counter(judged_in_words(one, verdict, support)[0] for one in verdict.documents)
            assert sides["says so"] == len(support.ranks_for)
            assert sides["otherwise"] == len(support.ranks_against)
        if event.status in (AnswerStatus.ABSTAINED, AnswerStatus.REMEMBERED):
            assert event.standing == standing
        else:
            assert event.standing is None
            standing = StandingAnswer(event.answer, event.observed_at)
        assert memory.standing == standing
        stored = decode_stored(encode_state(memory.state, memory.standing))
        assert stored == (memory.state, memory.standing)


def test_the_same_answer_has_the_same_support(name: str) -> None:
    """Support is what the documents say; how a defence chose among them is no part of it."""
    (event, _), *_ = told(guard_of(name), story())
    (majority, _), *_ = told(guard_of("majority"), story())
    assert (event.answer.title(), majority.answer) == ("Rome", "Rome")
    assert event.support.sites_for == 4
    assert event.status is AnswerStatus.CORROBORATED
    if (
        name != "voices"
        and event.answer == "Rome"
        and event.verdict.documents[0].atomic_answer is not None
    ):
        assert event.support == majority.support


def test_one_page_is_no_answer_and_erases_none() -> None:
    """A corroborated answer stands while a single page says otherwise, however often."""
    guard = guard_of("voices")
    history = [claims(("Rome",) * 3), *(claims(("Bern",), step) for step in range(1, 4))]
    (first, before), *rest = told(guard, history)
    assert (first.answer, first.status) == ("Rome", AnswerStatus.CORROBORATED)
    for event, memory in rest:
        assert (event.answer, event.status) == ("Rome", AnswerStatus.REMEMBERED)
        assert event.standing == StandingAnswer("Rome", OBSERVED_AT)
        assert (event.support.sites_for, event.support.rival_sites) == (0, 1)
        assert (event.changed, event.falsified) == (False, False)
        assert (memory.state, memory.standing) == (before.state, before.standing)


def test_what_a_query_withstands() -> None:
    # It would help whoever wrote the page at the next snapshot.
    guard = guard_of("voices")
    ((event, memory),) = told(guard, [claims(("Bern",))])
    assert (event.abstention, event.standing) == (Abstention.THIN_EVIDENCE, None)
    assert (event.verdict.candidate, event.wanted_more) == ("Bern", True)
    assert memory == Memory(1, None, None)
    for lying, winners, answer in ((0, 1, "Bern"), (1, 1, ""), (3, 3, ""), (3, 4, "Bern")):
        snapshot = claims(("Bern",) * winners)
        snapshot = replace(snapshot, query=replace(snapshot.query, withstand=lying))
        event, _ = guard.answer(snapshot, guard.initial_memory())
        assert (event.answer, event.withstand) == (answer, lying)
    snapshot = claims(("Bern",))
    at_length = replace(snapshot, query=replace(snapshot.query, tags=(LONG_FORM,)))
    event, _ = guard.answer(at_length, guard.initial_memory())
    assert (event.answer, event.withstand) == ("Bern", None)
    insisting = replace(at_length, query=replace(at_length.query, withstand=1))
    assert guard.answer(insisting, guard.initial_memory())[0].abstention == "thin_evidence"


def test_a_real_change_that_enough_sites_state_is_announced_at_once() -> None:
    guard = guard_of("voices")
    history = [claims(("Rome",) * 8), claims(("Bern", None, "Bern"), 1)]
    event, memory = told(guard, history)[-1]
    assert (event.answer, event.changed, event.falsified) == ("Bern", True, True)
    assert event.verdict.memory.decision is MemoryDecision.FALSIFIED
    assert memory.standing == StandingAnswer("Bern", event.observed_at)


def test_radar_is_asked_once_about_its_answer() -> None:
    guard = guard_of("radar")
    (snapshot,) = [claims(("Rome", "Rome", "Bern"))]
    (evidence,) = guard.gather([snapshot])
    before = len(guard.models.relations.log)
    guard.conclude([(evidence, guard.initial_memory())])
    asked = [pair for batch in guard.models.relations.log[before:] for pair in batch]
    assert len(asked) == 6  # what `believe` asks, in both directions
