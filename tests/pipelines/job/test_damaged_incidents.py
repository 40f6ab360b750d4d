"""Damaged rows about wrong answers: the worker goes on, and attributes anew what it can."""

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import complaints
from radarstream.connectors.state_table.incidents.complaints import next_open
from radarstream.connectors.state_table.queries.lookup import ANYWHERE, queries_named
from radarstream.connectors.state_table.sources import SourceVerdict, find_source, judge
from radarstream.schemas.incidents import Status
from tests.builders import QUESTION
from tests.pipelines.job.attributing_rig import (
    complained,
    complaint,
    events_of,
    run_out,
    worker_on,
)


def damage(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("value", ["X'FF'", "'text'", "CAST('{\"schema\":1}' AS BLOB)"])
def test_a_complaint_of_a_damaged_answer_is_unusable_and_the_next_one_is_attributed(engine, value):
    complained(engine, "tea", "cup")
    damage(engine, f"UPDATE kept_answers SET snapshot = {value} WHERE query_id = 'tea'")
    assert [event.query_id for event in run_out(worker_on(engine))] == ["cup"]
    rows = complaints.find_complaints(engine)
    assert {row["query_id"]: row["state"] for row in rows} == {"cup": "judged", "tea": "unusable"}


@pytest.mark.parametrize("value", ["X'FF'", "'text'"])
def test_an_answer_whose_incident_is_damaged_is_attributed_anew(engine: Engine, value: str) -> None:
    complained(engine, "tea", "cup")
    worker = worker_on(engine)
    first = {event.query_id: event for event in run_out(worker)}
    damage(engine, f"UPDATE incidents SET event = {value}, status = 'x' WHERE query_id = 'tea'")
    assert [event.query_id for event in events_of(engine)] == ["cup"]
    damage(engine, "DELETE FROM kept_answers WHERE query_id = 'cup'")
    assert set(queries_named(engine, QUESTION, ANYWHERE)) == {"cup", "tea"}
    complaint(engine, "ada", query_id="tea")
    again = run_out(worker)[-1]
    assert (again.query_id, again.status) == ("tea", Status.PROPOSED)
    assert again.flagged == first["tea"].flagged
    assert again.revision == first["tea"].revision + 1
    assert len(events_of(engine)) == 2


def test_a_complaint_in_no_known_state_waits_for_nothing(engine: Engine) -> None:
    (told,) = complained(engine, "cup")
    damage(engine, "UPDATE complaints SET state = 'x'")
    assert next_open(engine, day_ago_ms=0) is None
    assert complaint(engine, "eve").complaint_id == told.complaint_id


def test_a_damaged_verdict_on_a_source_is_none(engine: Engine) -> None:
    with engine.begin() as connection:
        judge(connection, "example.org", SourceVerdict.BLOCKED, None, 0)
    damage(engine, "UPDATE source_verdicts SET verdict = 'x'")
    with engine.connect() as connection:
        assert find_source(connection, "example.org").verdict is None
