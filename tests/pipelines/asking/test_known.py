"""What the job knows of a question: its memory is read, what it holds back is left out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, update

from radarstream import Guard
from radarstream.connectors.state_table.database.tables import MEMORY
from radarstream.connectors.state_table.queries.memory import load
from radarstream.connectors.state_table.queries.watchlist import replace_all
from radarstream.pipelines.asking import retrievers
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.known import KnownQueries, query_of
from radarstream.pipelines.asking.retrievers import WebSearch, impatient_clock
from radarstream.pipelines.asking.values import Origin
from radarstream.pipelines.searching import Search
from radarstream.pipelines.settings.watched import Watched, table_entries
from radarstream.schemas.errors import InputError
from radarstream.schemas.searching import SearchRequest
from radarstream.schemas.snapshot import Query, SearchSnapshot
from radarstream.schemas.verdict import MemoryDecision
from tests.asking import CAPITAL, CLAIMS, NOON, OFF, answerer_with, question
from tests.builders import make_documents

DAY = timedelta(days=1)


def remember(engine: Engine, text: str = CAPITAL, query_id: str | None = None, **given: Any) -> str:
    """Let the job's guard answer twice; returns the id of the query."""
    with Guard(profile="scripted", memory=engine.url.render_as_string(), **given) as guard:
        for day in (2, 1):
            answer = guard.answer(text, CLAIMS[:2], at=NOON - day * DAY, id=query_id)
    return answer.event.query_id


def parts_of(engine: Engine, **changed: Any) -> Answerer:
    return answerer_with(engine, OFF, **changed)


def test_a_poisoned_question_meets_the_memory_and_cannot_change_it(own_engine) -> None:
    query_id = remember(own_engine)
    before = load(own_engine, [query_id])
    lies = ("Cusco is the capital.", "The capital is Cusco.", "Cusco is its capital.")
    reply = parts_of(own_engine).answer(question(claims=lies))
    memory = reply.event.verdict.memory
    assert reply.event.query_id == query_id
    assert (reply.event.step, memory.previous_answer) == (2, "Lima")
    assert memory.decision is not MemoryDecision.NONE
    assert load(own_engine, [query_id]) == before


def test_a_memory_that_is_damaged_fails_the_question_as_in_the_job(own_engine) -> None:
    query_id = remember(own_engine)
    with own_engine.begin() as connection:
        connection.execute(update(MEMORY).values(state=b"?"))
    damaged, fine = parts_of(own_engine).answer_all([question(), question("Who else is there?")])
    assert isinstance(damaged, InputError)
    assert not isinstance(fine, Exception)
    assert query_id in load(own_engine, [query_id])


def test_a_question_is_newer_than_the_memory(own_engine) -> None:
    remember(own_engine)
    reply = parts_of(own_engine).answer(question(asked_at=NOON - 9 * DAY))
    assert reply.event.observed_at == NOON - DAY + timedelta(milliseconds=1)


def watch(engine: Engine, *entries: Watched) -> None:
    replace_all(engine, table_entries(entries), 1)


def test_a_watched_question_is_answered_and_searched_for_as_it_is_watched(own_engine) -> None:
    entry = Watched(question=CAPITAL, id="capital", language="es", tags=("geo",), withstand=0)
    watch(own_engine, entry)
    known = KnownQueries(own_engine)
    (found, by_id, other) = known.find([query_of(text) for text in (CAPITAL[:-1], "capital", "?!")])
    assert found.query == by_id.query == entry.query
    assert found.request == entry.request
    assert other.request == SearchRequest(Query.from_text("?!"))
    watch(own_engine)
    (gone,) = known.find([query_of(CAPITAL)])
    assert gone.watched is None
    assert gone.query.id != "capital"


def test_a_search_asks_as_the_watchlist_says_and_only_once_it_is_needed(own_engine, monkeypatch):
    watch(own_engine, Watched(question=CAPITAL, id="capital", language="es", country="pe"))
    requests, opened = list[SearchRequest](), list[object]()

    def search(request: SearchRequest) -> SearchSnapshot:
        requests.append(request)
        return SearchSnapshot(request.query, datetime.now(UTC), make_documents(CLAIMS))

    @contextmanager
    def opening(*given: object, **named: object) -> Iterator[tuple[Search, None]]:
        opened.append(given)
        yield search, None

    monkeypatch.setattr(retrievers, "opened_search", opening)
    parts = parts_of(own_engine)
    with WebSearch(parts.settings, parts.queries) as web:
        asker = replace(parts, retrievers={Origin.SEARCH: web.retrieve})
        assert opened == []
        for text in (CAPITAL, "Who is it?"):
            reply = asker.answer(question(text, origin=Origin.SEARCH, wanted=7))
            assert reply.event.question == text
    assert len(opened) == 1
    asked = [(r.query.id, r.k, r.start, r.language, r.country) for r in requests]
    places = ((7, 0), (10, 7), (10, 0))
    assert asked[:3] == [("capital", *place, "es", "pe") for place in places]
    assert asked[3] == (Query.from_text("Who is it?").id, 7, 0, "", "")


def test_somebody_who_waits_for_an_answer_does_not_wait_for_a_turn_of_an_hour() -> None:
    clock = impatient_clock(5.0)
    before = clock.monotonic()
    clock.wait(3600.0)
    assert clock.monotonic() - before < 600.0
    assert clock.now().tzinfo is UTC
