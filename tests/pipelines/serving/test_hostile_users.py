"""Users who want more than their share, or go on after they were told to go."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from radarstream.pipelines.serving import events, people
from radarstream.pipelines.serving.told import harmless
from radarstream.schemas.errors import BudgetSpentError
from tests.pipelines.serving.console_rig import app_of, client_of, seeded, settings_of, sign_in
from tests.pipelines.serving.test_events import answered, engine_of, sent_events, stream
from tests.serving import FakeAsker, bearer, fake_service, running

BASE = "http://127.0.0.1"
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": "Where?"}},
}


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return fake_service(tmp_path)


@pytest.mark.parametrize("loss", ["token", "role"])
def test_a_stream_ends_with_the_right_to_read(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    monkeypatch.setattr(events, "POLL_S", 0.02)
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.05)
    monkeypatch.setattr(events, "CHECKED_S", 0.0, raising=False)
    monkeypatch.setattr(people, "REMEMBERED_S", 0.0)
    tokens = app.state.context.people.tokens
    with running(app) as port, stream(port) as followed:
        lines = followed.iter_lines()
        assert next(lines).startswith("retry")
        if loss == "token":
            del tokens["all"]
        else:
            tokens["all"] = replace(tokens["all"], roles=frozenset({people.Role.REPORT}))
        answered(engine_of(app), "After?", "SECRET ANSWER")
        rest = "".join(line for line, _ in zip(lines, range(500), strict=False))
    assert len(rest) < 2_000 and "SECRET ANSWER" not in rest


def test_one_user_cannot_take_all_streams(tmp_path: Path) -> None:
    app = fake_service(tmp_path, streams=3, streams_per_user=2)
    with running(app) as port, stream(port) as first, stream(port) as second:
        assert first.status_code == second.status_code == 200
        url = f"{BASE}:{port}/events"
        third = httpx.get(url, headers=bearer("all"), timeout=5)
        assert third.status_code == 429 and int(third.headers["retry-after"]) >= 1
        with httpx.stream("GET", url, headers=bearer("asking"), timeout=5) as other:
            assert other.status_code == 200


def test_what_is_kept_while_a_client_comes_back_is_told(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "POLL_S", 0.02)
    passed, since, pass_on = Event(), events.told_since, events.Hub._pass_on

    def passing_on(hub: events.Hub, told: events.Told) -> None:
        pass_on(hub, told)
        if told.kind == events.ANSWER:
            passed.set()

    def slowly(engine: Engine, after: int | None) -> list[events.Told]:
        missed = since(engine, after)
        if after is not None:
            answered(engine, "Between?", "New")
            assert passed.wait(20)
        return missed

    monkeypatch.setattr(events.Hub, "_pass_on", passing_on)
    monkeypatch.setattr(events, "told_since", slowly)
    with running(app) as port, stream(port) as first:
        assert next(first.iter_lines()).startswith("retry")
        with stream(port, **{"Last-Event-ID": "0"}) as second:
            told = sent_events(second)
            while (got := next(told))[1] != events.ANSWER:
                pass
            assert got[2]["question"] == "Between?"


@pytest.mark.parametrize("seen", ["9" * 19, "9" * 20, "\u00b2", "-1", "1e3"])
def test_a_number_that_no_event_has_is_ignored(app: FastAPI, seen: str) -> None:
    with running(app) as port:
        headers = {"Last-Event-ID": seen.encode("latin-1"), **bearer("all")}
        with httpx.stream("GET", f"{BASE}:{port}/events", headers=headers, timeout=5) as got:
            assert got.status_code == 200


def test_agents_cannot_hold_places_with_streams_on_which_nothing_comes(tmp_path: Path) -> None:
    with running(fake_service(tmp_path, at_once=1)) as port:
        headers = bearer("all") | {"Accept": "text/event-stream"}
        got = httpx.get(f"{BASE}:{port}/mcp", headers=headers, timeout=5)
        assert (got.status_code, got.json()["error"]["code"]) == (405, "method_not_allowed")


def test_a_page_of_another_site_calls_no_tool_where_anybody_may(tmp_path: Path) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    with TestClient(fake_service(tmp_path, anonymous="ask"), base_url=BASE) as client:
        foreign = headers | {"Origin": "http://evil.example"}
        assert client.post("/mcp", content=json.dumps(CALL), headers=foreign).status_code == 403
        assert client.post("/mcp", content=json.dumps(CALL), headers=headers).status_code == 200


@pytest.mark.parametrize("step", ["9" * 19, "9" * 40, "-1"])
def test_a_step_that_no_answer_has_is_refused(tmp_path: Path, step: str) -> None:
    settings = settings_of(tmp_path)
    with client_of(app_of(settings, seeded(settings))) as client:
        sign_in(client)
        assert client.get(f"/console/report?query=x&step={step}").status_code in (400, 404)


@given(st.text(alphabet="\\<a!/ ", max_size=12))
def test_a_tag_is_escaped_whatever_stands_before_it(text: str) -> None:
    """In Markdown, an odd number of backslashes makes a tag plain text, an even one does not."""
    shown = harmless(text)
    for place, character in enumerate(shown):
        if character == "<" and shown[place + 1 : place + 2] in ("a", "/", "!"):
            before = shown[:place]
            assert (len(before) - len(before.rstrip("\\"))) % 2 == 1, (text, shown)


def test_a_spent_epsilon_budget_is_a_refusal_that_no_client_repeats(tmp_path: Path) -> None:
    asker = FakeAsker(lambda _: BudgetSpentError("the epsilon budget of this user is spent"))
    chat = {"model": "radarstream", "messages": [{"role": "user", "content": "Where?"}]}
    with TestClient(fake_service(tmp_path, asker), base_url=BASE) as client:
        for path, body in (("/answers", {"question": "Where?"}), ("/v1/chat/completions", chat)):
            sent = client.post(path, json=body, headers=bearer("all"))
            assert (sent.status_code, sent.json()["error"]["code"]) == (403, "epsilon_budget_spent")
            assert "retry-after" not in sent.headers and "budget" in sent.text
