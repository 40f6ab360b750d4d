"""Answers of watched queries: read, and reported as wrong."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.serving.kept_events import keep_event
from radarstream.pipelines.serving.app import create_app
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Query, SearchSnapshot
from tests.serving import (
    OWN,
    PeopleInMemory,
    a_question,
    bearer,
    fake_service,
    reply_to,
    running,
    service_settings,
)

BASE = "http://127.0.0.1"
HEADERS = bearer("all")


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return fake_service(tmp_path)


def answered(engine: Engine, question: str, answer: str, step: int = 0) -> AnswerEvent:
    """Keep an answer as the job does, and its documents."""
    reply = reply_to(a_question(question), answer)
    event = replace(reply.event, step=step)
    snapshot = SearchSnapshot(Query.from_text(question), datetime.now(UTC), reply.documents)
    with engine.begin() as connection:
        keep_event(connection, event, steps=20)
        keep_answer(connection, KeptAnswer.of(event, snapshot), steps=20)
    return event


def engine_of(app: FastAPI) -> Engine:
    engine: Engine = app.state.context.engine
    return engine


def test_answers_and_their_history_are_read(app: FastAPI) -> None:
    engine = engine_of(app)
    first = answered(engine, "Who won the cup?", "Rome")
    answered(engine, "Who won the cup?", "Basel", 1)
    answered(engine, "Who leads France?", "Macron")
    with running(app) as port:
        url = f"{BASE}:{port}/answers"
        assert httpx.get(url, headers=HEADERS).json()["total"] == 2
        found = httpx.get(url, params={"search": "CUP"}, headers=HEADERS).json()
        assert [one["answer"] for one in found["answers"]] == ["Basel"]
        for named in (first.query_id, "who won the  cup?"):
            history = httpx.get(f"{url}/{named}", headers=HEADERS).json()
            assert [one["answer"] for one in history["answers"]] == ["Basel", "Rome"]
        assert httpx.get(f"{url}/nothing", headers=HEADERS).status_code == 404


def test_a_wrong_answer_is_reported_once(app: FastAPI) -> None:
    event = answered(engine_of(app), "Who won the cup?", "Rome")
    with running(app) as port:

        def report(**body: object) -> httpx.Response:
            return httpx.post(f"{BASE}:{port}/reports", json=body, headers=HEADERS)

        body = {"query": "Who won the cup?", "comment": "It was Basel."}
        sent = report(**body)
        assert sent.status_code == 201
        assert (sent.json()["query_id"], sent.json()["sender"]) == (event.query_id, "all")
        first, again = (report(**body, answer="rome", step=0).json() for _ in range(2))
        assert first["complaint_id"] == again["complaint_id"]
        unknown = report(query="nothing")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "report_not_kept")


PARIS = "Paris is the capital of France."


def test_a_claim_is_checked_and_what_cannot_be_is_said(tmp_path: Path) -> None:
    settings = service_settings(tmp_path)
    with running(create_app(settings, people=PeopleInMemory())) as port:

        def check(**body: object) -> httpx.Response:
            return httpx.post(f"{BASE}:{port}/claims", json=body, headers=HEADERS, timeout=60)

        told = check(claim=PARIS, documents=OWN[:2]).json()
        assert (told["verdict"], told["claim"], told["claimed"]) == ("supported", PARIS, "Paris")
        assert told["text"].startswith("Supported: 2 independent sites support it")
        assert "one.example" in told["text"]
        lyon = check(claim="Lyon is the capital of France.", documents=OWN[:2], withstand=1).json()
        stances = [[1, "contradicts"], [2, "contradicts"]]
        assert (lyon["verdict"], lyon["stances"]) == ("refuted", stances)
        assert check(claim=PARIS, documents=OWN).json()["verdict"] == "disputed"
        for body, code in (
            ({"claim": " ", "documents": OWN}, "empty_claim"),
            ({"claim": "x" * 2_001, "documents": OWN}, "claim_too_long"),
            ({"claim": PARIS, "source": "documents"}, "documents"),
            ({"claim": PARIS, "documents": OWN, "question": "Who?"}, "invalid_value"),
            ({"claim": "Paris was not old.", "documents": OWN}, "claim_unread"),
        ):
            refused = check(**body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, code)
        asked = {"claim": PARIS, "documents": OWN}
        nobody = httpx.post(f"{BASE}:{port}/claims", json=asked, headers=bearer("reporting"))
        assert nobody.status_code == 403
