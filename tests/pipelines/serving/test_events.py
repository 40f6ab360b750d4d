"""Answers of watched queries: read, followed live from two processes' worth of apps, reported."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.serving.kept_events import keep_event, last_number
from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.serving import events
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Query, SearchSnapshot
from tests.serving import a_question, bearer, fake_service, reply_to, running

BASE = "http://127.0.0.1"
HEADERS = bearer("all")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "POLL_S", 0.02)
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.2)


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return fake_service(tmp_path)


def answered(engine: Engine, question: str, answer: str, step: int = 0) -> AnswerEvent:
    """Keep an answer as the job does, and its documents."""
    asked = a_question(question)
    reply = reply_to(asked, answer)
    event = replace(reply.event, step=step)
    snapshot = SearchSnapshot(Query.from_text(question), datetime.now(UTC), reply.documents)
    with engine.begin() as connection:
        keep_event(connection, event, steps=20)
        keep_answer(connection, KeptAnswer.of(event, snapshot), steps=20)
    return event


def engine_of(app: FastAPI) -> Engine:
    engine: Engine = app.state.context.engine
    return engine


def sent_events(response: httpx.Response) -> Iterator[tuple[str, str, dict]]:
    """Id, kind and data of every event of a stream."""
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields["id"], fields["event"], json.loads(fields["data"])
            fields = {}


def stream(port: int, **headers: str) -> AbstractContextManager[httpx.Response]:
    return httpx.stream("GET", f"{BASE}:{port}/events", headers=HEADERS | headers, timeout=20)


def test_answers_and_their_history_are_read(app: FastAPI) -> None:
    engine = engine_of(app)
    first = answered(engine, "Who won the cup?", "Rome")
    answered(engine, "Who won the cup?", "Basel", 1)
    answered(engine, "Who leads France?", "Macron")
    with running(app) as port:
        url = f"{BASE}:{port}/answers"
        page = httpx.get(url, headers=HEADERS).json()
        assert page["total"] == 2
        found = httpx.get(url, params={"search": "CUP"}, headers=HEADERS).json()
        assert [one["answer"] for one in found["answers"]] == ["Basel"]
        for named in (first.query_id, "who won the  cup?"):
            history = httpx.get(f"{url}/{named}", headers=HEADERS).json()
            assert [one["answer"] for one in history["answers"]] == ["Basel", "Rome"]
        assert httpx.get(f"{url}/nothing", headers=HEADERS).status_code == 404


def test_a_wrong_answer_is_reported_once(app: FastAPI) -> None:
    event = answered(engine_of(app), "Who won the cup?", "Rome")
    with running(app) as port:
        body = {"query": "Who won the cup?", "comment": "It was Basel."}
        sent = httpx.post(f"{BASE}:{port}/reports", json=body, headers=HEADERS)
        assert sent.status_code == 201
        assert (sent.json()["query_id"], sent.json()["sender"]) == (event.query_id, "all")
        again = body | {"answer": "rome", "step": 0}
        twice = [httpx.post(f"{BASE}:{port}/reports", json=again, headers=HEADERS).json()
                 for _ in range(2)]  # fmt: skip
        assert twice[0]["complaint_id"] == twice[1]["complaint_id"]
        unknown = httpx.post(f"{BASE}:{port}/reports", json={"query": "nothing"}, headers=HEADERS)
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "report_not_kept")


def test_what_is_new_is_told_by_every_process(tmp_path: Path) -> None:
    """Two apps on one database, each with its own reader: a client of either hears of it."""
    one, two = fake_service(tmp_path), fake_service(tmp_path)
    answered(engine_of(one), "Before?", "Old")
    with (
        running(one) as first,
        running(two) as second,
        stream(first) as heard,
        stream(second) as other,
    ):
        followed = [sent_events(heard), sent_events(other)]
        for inbox in followed:  # the first event tells the state of the inbox
            assert next(inbox)[1] == "incidents"
        answered(engine_of(one), "After?", "New")
        for told in followed:
            number, kind, value = next(told)
            assert (kind, value["question"], value["answer"]) == ("answer", "After?", "New")
            assert int(number) == last_number(engine_of(two))
        report = {"query": "After?"}
        assert httpx.post(f"{BASE}:{first}/reports", json=report, headers=HEADERS).is_success
        counted = {"complaints": {"open": 1}, "incidents": {}}
        for told in followed:
            assert next(told)[1:] == ("incidents", counted)


def test_who_comes_back_is_told_what_was_missed(app: FastAPI) -> None:
    engine = engine_of(app)
    answered(engine, "One?", "1")
    seen = last_number(engine)
    answered(engine, "Two?", "2")
    answered(engine, "Three?", "3")
    with running(app) as port, stream(port, **{"Last-Event-ID": str(seen)}) as response:
        told = sent_events(response)
        assert [next(told)[2]["answer"] for _ in range(2)] == ["2", "3"]


def test_who_may_only_ask_is_told_no_complaints(app: FastAPI) -> None:
    asking = bearer("asking")
    with running(app) as port, stream(port) as all_roles, stream(port, **asking) as heard:
        told = sent_events(heard)
        assert next(sent_events(all_roles))[1] == "incidents"
        answered(engine_of(app), "After?", "New")
        assert next(told)[1] == "answer"


def test_a_quiet_stream_has_heartbeats_and_too_many_are_refused(tmp_path: Path) -> None:
    with running(fake_service(tmp_path, streams=1)) as port, stream(port) as response:
        lines = response.iter_lines()
        assert next(lines) == "retry: 2000"
        refused = httpx.get(f"{BASE}:{port}/events", headers=HEADERS)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_streams")
        assert next(line for line in lines if line.startswith(":")) == ": nothing new"


def test_a_stop_ends_the_streams(app: FastAPI) -> None:
    stop = Stop()
    with running(app, stop) as port, stream(port) as response:
        told = sent_events(response)
        assert next(told)[1] == "incidents"
        stop.event.set()
        assert list(told) == []
