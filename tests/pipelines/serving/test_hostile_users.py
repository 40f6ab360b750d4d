"""Users who want more than their share, or go on after they were told to go."""

import json
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.serving.told import harmless
from radarstream.schemas.errors import BudgetSpentError
from tests.pipelines.serving.console_rig import app_of, client_of, seeded, settings_of, sign_in
from tests.serving import FakeAsker, bearer, fake_service, running

BASE = "http://127.0.0.1"
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": {"question": "Where?"}},
}


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
