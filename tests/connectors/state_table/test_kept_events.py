"""The answer events that are kept of a query: in the fold, read in pages."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, update

from radarstream.connectors.state_table.database.tables import KEPT_EVENTS
from radarstream.connectors.state_table.queries.lookup import (
    ANYWHERE,
    queries_named,
    question_on_record,
)
from radarstream.connectors.state_table.queries.memory import clear_run
from radarstream.connectors.state_table.serving.kept_events import (
    find_event,
    history,
    keep_event,
    latest_events,
)
from radarstream.schemas.events import AnswerEvent
from tests.wire_samples import ANSWER


def at_step(
    step: int, query: str = "cup", *, changed: bool | None = False, **words: str
) -> AnswerEvent:
    at = ANSWER.observed_at + timedelta(minutes=step)
    event = replace(ANSWER, query_id=query, step=step, observed_at=at, changed=changed)
    return replace(event, **words)


def keep(engine: Engine, *events: AnswerEvent, steps: int = 3) -> None:
    for event in events:
        with engine.begin() as connection:
            keep_event(connection, event, steps=steps)


def steps_of(engine: Engine, query: str = "cup") -> list[int]:
    return [kept.step for kept in history(engine, query)]


def test_the_last_events_stay_whole(engine: Engine) -> None:
    keep(engine, *(at_step(step) for step in range(5)), at_step(0, "other"))
    assert steps_of(engine) == [4, 3, 2]
    assert history(engine, "cup")[0] == at_step(4)
    found = find_event(engine, "cup", 3)
    assert found is not None
    assert found == at_step(3)
    assert find_event(engine, "cup", 0) is None
    assert find_event(engine, "none") is None
    assert history(engine, "none") == []
    with engine.begin() as connection:  # what is damaged is left out
        damaged = update(KEPT_EVENTS).where(KEPT_EVENTS.c.step == 4).values(event=b"{")
        connection.execute(damaged)
    assert steps_of(engine) == [3, 2]
    assert [latest.event.query_id for latest in latest_events(engine).latest] == ["other"]
    clear_run(engine)
    assert latest_events(engine).total == 0


def test_the_list_of_latest_answers(engine: Engine) -> None:
    keep(
        engine,
        at_step(0, "a", changed=None, question="Who won the 100% Cup?", answer="Zürich"),
        at_step(1, "a", changed=True, question="Who won the 100% Cup?", answer="Basel 100%"),
        at_step(2, "a", question="Who won the 100% Cup?", answer="BASEL 100%"),
        at_step(5, "b", changed=None, question="Wie heißt der Berg?", answer="Säntis"),
    )
    page = latest_events(engine)
    assert page.total == 2
    assert [latest.event.query_id for latest in page.latest] == ["b", "a"]
    assert [latest.changed_at for latest in page.latest] == [None, at_step(1).observed_at]
    one = latest_events(engine, limit=1, offset=1)
    assert (one.total, [latest.event.query_id for latest in one.latest]) == (2, ["a"])
    for search, ids in {
        "cup": ["a"],
        "basel 100%": ["a"],
        "zürich": [],  # no longer the answer
        "HEISST": ["b"],
        "a%": [],
        "_": [],
        "nothing": [],
    }.items():
        told = latest_events(engine, search=search)
        assert [latest.event.query_id for latest in told.latest] == ids, search
        assert told.total == len(ids)
    assert queries_named(engine, "who won the 100% cup", ANYWHERE) == ["a"]
    assert question_on_record(engine, "a") == "Who won the 100% Cup?"


@settings(max_examples=40)
@given(st.integers(1, 4), st.lists(st.integers(0, 12), min_size=1, max_size=30))
def test_never_more_than_wanted_and_always_the_newest(wanted: int, steps: list[int]) -> None:
    """Whatever steps come: a model of what must be left, over a database in memory."""
    from sqlalchemy import create_engine

    memory = create_engine("sqlite://")
    KEPT_EVENTS.create(memory)
    expected: list[int] = []
    for step in steps:
        keep(memory, at_step(step), steps=wanted)
        expected = [old for old in expected if step - wanted < old < step] + [step]
        assert steps_of(memory) == expected[::-1]
    memory.dispose()
