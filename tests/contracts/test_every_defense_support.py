"""What every event says of the support of its answer; what production does with thin evidence."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from radarstream.connectors.models.scripted_tokens import ScriptedTokens
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.pipelines.pages.verdict_words import side_in_words
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.schemas.codec import decode_stored, encode_state
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Belief, Memory, StandingAnswer
from radarstream.schemas.snapshot import LONG_FORM, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention, MemoryDecision
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models

STORY = [
    ("Rome", "Rome", "Rome", "Rome"),
    ("Bern",),
    (),
    (None, None),
    ("Rome", "Rome", "Bern", "Rome"),
    ("Bern", "Bern", "Bern", "Bern", "Bern"),
]


@pytest.fixture(params=sorted(DEFENSES))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def guard_of(name: str, *, min_support: int = 0, **options: Any) -> DefensePipeline[Any]:
    models = scripted_models()
    models = replace(models, tokens=ScriptedTokens(models.generator))
    return DefensePipeline(name, build_defense(name, options), models, min_support=min_support)


def claims(winners: Sequence[str | None], step: int = 0, *, sites: int = 9) -> SearchSnapshot:
    """One document per winner, each with words of its own, on so many sites in turn."""
    texts = [
        f"Page {n} of {step} in {n} words: {w}." if w else f"Page {n}: I don't know"
        for n, w in enumerate(winners)
    ]
    snapshot = make_snapshot(texts, observed_at=OBSERVED_AT + timedelta(days=step))
    documents = tuple(
        replace(d, url=f"https://s{place % sites}.example/{place}")
        for place, d in enumerate(snapshot.documents)
    )
    return replace(snapshot, documents=documents)


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


@pytest.mark.parametrize("least", [0, 2])
def test_no_event_without_a_status(name: str, least: int) -> None:
    standing = None
    for event, memory in told(guard_of(name, min_support=least), story()):
        assert (event.status is AnswerStatus.ABSTAINED) == (event.abstention is not None)
        assert (event.support is None) <= (event.abstention is not None)
        assert (event.answer == "") == (event.abstention is not None)
        if event.support is not None:
            assert event.support.documents_for + event.support.documents_against <= len(
                event.sources
            )
            assert event.support.sites_for <= event.support.documents_for
            support = event.support
            sides = Counter(side_in_words(one, support) for one in event.verdict.documents)
            assert (sides["says so"], len(support.ranks_for)) == (support.documents_for,) * 2
            assert (sides["otherwise"], len(support.ranks_against)) == (
                support.documents_against,
            ) * 2
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
    assert event.support is not None
    assert (event.support.documents_for, event.support.sites_for) == (4, 4)
    assert event.status is AnswerStatus.CORROBORATED
    if event.answer == "Rome" and event.verdict.documents[0].atomic_answer is not None:
        assert event.support == majority.support


def test_one_page_is_no_answer_in_production_and_erases_none(name: str) -> None:
    """A corroborated answer stands while a single page says otherwise, however often.

    A defence may give it again from its memory.
    """
    published, production = guard_of(name), guard_of(name, min_support=2)
    history = [claims(("Rome",) * 3), *(claims(("Bern",), step) for step in range(1, 4))]
    (first, before), *rest = told(production, history)
    assert first.answer.title() == "Rome"
    for event, memory in rest:
        if event.abstention is None:
            assert (event.answer, event.status) == (first.answer, AnswerStatus.REMEMBERED)
            assert memory.standing == before.standing
            continue
        assert event.abstention is Abstention.THIN_EVIDENCE
        assert event.standing == StandingAnswer(first.answer, OBSERVED_AT)
        assert event.support.sites_for == 1
        assert (event.changed, event.falsified) == (None, False)
        assert (memory.state, memory.standing) == (before.state, before.standing)
    assert told(published, history)[1][0].answer


def test_a_first_answer_from_one_page_is_not_remembered(name: str) -> None:
    """It would help whoever wrote the page at the next snapshot."""
    guard = guard_of(name, min_support=2)
    ((event, memory),) = told(guard, [claims(("Bern",))])
    assert (event.abstention, event.standing) == (Abstention.THIN_EVIDENCE, None)
    assert memory == Memory(1, guard.initial_memory().state, None)


def test_many_pages_of_one_site_are_one_voice(name: str) -> None:
    guard = guard_of(name, min_support=2)
    ((event, _),) = told(guard, [claims(("Bern",) * 5, sites=1)])
    assert event.abstention is Abstention.THIN_EVIDENCE
    assert (event.support.documents_for, event.support.sites_for) == (5, 1)
    ((event, _),) = told(guard, [claims(("Bern",) * 5, sites=2)])
    assert (event.answer.title(), event.status) == ("Bern", AnswerStatus.CORROBORATED)


def test_a_query_says_for_itself_how_much_it_wants(name: str) -> None:
    guard = guard_of(name, min_support=2)
    for least, winners, answer in ((1, 1, "Bern"), (0, 1, "Bern"), (4, 3, ""), (4, 4, "Bern")):
        snapshot = claims(("Bern",) * winners)
        snapshot = replace(snapshot, query=replace(snapshot.query, min_support=least))
        assert guard.answer(snapshot, guard.initial_memory())[0].answer.title() == answer


def test_answers_at_length_are_given_unless_the_query_insists() -> None:
    guard = guard_of("radar", min_support=2)
    snapshot = claims(("Bern",))
    at_length = replace(snapshot, query=replace(snapshot.query, tags=(LONG_FORM,)))
    assert guard.answer(at_length, guard.initial_memory())[0].answer == "Bern"
    insisting = replace(at_length, query=replace(at_length.query, min_support=2))
    assert guard.answer(insisting, guard.initial_memory())[0].abstention == "thin_evidence"


def test_a_query_says_what_an_empty_cut_leads_to() -> None:
    guard = guard_of("radar", on_empty="best_document")
    snapshot = claims(("Rome", "Bern", "Oslo"))
    for on_empty, abstention in ((None, None), ("abstain", Abstention.NO_CONSENSUS)):
        asked = replace(snapshot, query=replace(snapshot.query, on_empty=on_empty))
        assert guard.answer(asked, guard.initial_memory())[0].abstention is abstention


def test_the_memory_agrees_where_one_page_does() -> None:
    guard = guard_of("radar", min_support=2)
    history = [claims(("Rome",) * 3), claims(("Rome",), 1), claims((None,), 2), claims((), 3)]
    (_, (one, _), (none, _), (empty, memory)) = told(guard, history)
    assert (one.answer, one.status, one.support.memory) == ("Rome", "single_source", 1.0)
    for event in (none, empty):
        assert (event.answer, event.status) == ("Rome", AnswerStatus.REMEMBERED)
        assert event.standing == StandingAnswer("Rome", one.observed_at)
    assert memory.standing == none.standing


def test_a_real_change_is_confirmed_and_falsifies() -> None:
    guard = guard_of("radar", min_support=2)
    history = [claims(("Rome", "Rome", "Oslo")), claims(("Bern",) * 6, 1)]
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


@pytest.mark.parametrize(
    "row",
    [
        b'{"v":2}',
        b'{"v":2,"t":1,"w":"x"}',
        b'{"v":true}',
        b'{"v":1,"t":1}',
        b'{"v":1,"w":"x"}',
        b'{"v":1,"t":1.5,"w":"x"}',
        b'{"v":1,"t":true,"w":"x"}',
        b'{"v":1,"t":99999999999999999,"w":"x"}',
        b'{"v":1,"t":1,"w":7}',
        b'{"v":1,"t":1,"a":"x","s":0.5}',
    ],
)
def test_foreign_and_damaged_rows_are_refused(row: bytes) -> None:
    with pytest.raises(InputError):
        decode_stored(row)


def test_a_standing_answer_costs_few_bytes() -> None:
    belief = Belief("Emmanuel Macron", 0.8731234567890123, 0.041234567890123454)
    standing = StandingAnswer("Emmanuel Macron", OBSERVED_AT)
    stored = encode_state(belief, standing)
    assert len(stored) - len(encode_state(belief)) == len(',"t":1748779200000')
    assert encode_state(None, standing) == b'{"v":1,"t":1748779200000,"w":"Emmanuel Macron"}'
