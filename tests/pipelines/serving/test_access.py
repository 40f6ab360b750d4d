"""Who may use which route, and what a browser of somebody else's page cannot do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient

from radarstream.pipelines.serving.access import COOKIE, SignedIn, check_serving, open_to_all
from radarstream.pipelines.serving.people import Role, User
from radarstream.schemas.errors import ConfigurationError
from tests.serving import TOKENS, bearer, fake_service, running, service_settings

BASE = "http://127.0.0.1"
ASKED = {"question": "Where?"}
FOREIGN = ("http://evil.example", "null", "http://127.0.0.1.evil.example", "http://127.0.0.1:9")
OF_THEIR_OWN = {"/mcp"}  # no routes of FastAPI: they check the token themselves


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return fake_service(tmp_path)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(
        app, base_url=BASE, raise_server_exceptions=False, follow_redirects=False
    ) as opened:
        yield opened


def declared(route: object) -> set[object]:
    """What a route says of its access, wherever among its dependencies."""

    def calls(dependant: object) -> Iterator[object]:
        for one in dependant.dependencies:  # type: ignore[attr-defined]
            yield one.call
            yield from calls(one)

    found = list(calls(route.dependant))  # type: ignore[attr-defined]
    return {one for one in found if isinstance(one, SignedIn) or one is open_to_all}


def test_every_route_says_who_may_use_it(app: FastAPI) -> None:
    every = list(iter_route_contexts(app.routes))
    routes = [one for one in every if hasattr(one, "dependant")]
    assert {one.path for one in every} - {one.path for one in routes} == OF_THEIR_OWN
    assert {"/answers", "/v1/chat/completions", "/metrics"} <= {one.path for one in routes}
    assert [one.path for one in routes if len(declared(one)) != 1] == []


def test_the_matrix_of_roles(app: FastAPI, client: TestClient) -> None:
    """Every route with every user: 401 without a token, 403 without the role, else neither."""
    tried = 0
    for path in OF_THEIR_OWN:
        for given, code in (({}, "not_signed_in"), (bearer("wrong"), "invalid_api_key")):
            sent = client.post(path, json={}, headers=given)
            assert (sent.status_code, sent.json()["error"]["code"]) == (401, code)
            assert "WWW-Authenticate" in sent.headers
    for route in iter_route_contexts(app.routes):
        if route.path in OF_THEIR_OWN:
            continue
        (access,) = declared(route)
        if access is open_to_all:
            continue
        path = re.sub(r"\{[^}]*\}", "1", route.path or "")
        for method in (route.methods or set()) - {"HEAD"}:
            for name, user in {"": None, **TOKENS}.items():
                sent = client.request(method, path, headers=bearer(name) if name else {}, json={})
                allowed = user is not None and bool(access.roles & user.roles)  # type: ignore[attr-defined]
                expected = "in" if allowed else "role missing" if user else "signed out"
                assert outcome(sent) == expected, (method, path, name, sent.status_code)
                assert sent.status_code < 500, (method, path, name)
                tried += 1
    assert tried >= 50


def outcome(sent: httpx.Response) -> str:
    """Whether a route let somebody in; the console sends those to its form who are signed out."""
    if sent.status_code == 401 or sent.headers.get("location", "").startswith(
        "/console/sign-in?next="
    ):
        return "signed out"
    return "role missing" if sent.status_code == 403 else "in"


WRONG = ["Bearer wrong", "Bearer ", "Basic YTpi", "bearer", "Bearer  \u00e9"]
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "ask", "arguments": {"question": "Where?"}}}  # fmt: skip


def test_a_wrong_token_is_401(client: TestClient) -> None:
    for header in WRONG:
        sent = client.get("/v1/models", headers={"Authorization": header.encode("latin-1")})
        assert sent.status_code == 401 and sent.headers["www-authenticate"].startswith("Bearer")


def test_where_anybody_may_ask_a_wrong_token_is_nobodys(tmp_path: Path) -> None:
    """And a page of another site asks nothing and calls no tool."""
    tool = {"Content-Type": "application/json", "Accept": "application/json"}
    foreign = {"Origin": b"http://evil.example"}
    with TestClient(fake_service(tmp_path, anonymous="ask"), base_url=BASE) as client:
        for sent in ({}, *({"Authorization": header.encode("latin-1")} for header in WRONG)):
            assert client.post("/answers", json=ASKED, headers=sent).status_code == 200
            assert client.post("/reports", json={"query": "x"}, headers=sent).status_code == 403
            assert client.get("/metrics", headers=sent).status_code == 403
            assert client.post("/answers", json=ASKED, headers=sent | foreign).status_code == 403
        assert client.get("/metrics", headers=bearer("operating")).status_code == 200
        for headers, code in ((tool, 200), (tool | foreign, 403)):
            sent = client.post("/mcp", content=json.dumps(CALL), headers=headers)
            assert sent.status_code == code


def test_agents_cannot_hold_places_with_streams_on_which_nothing_comes(tmp_path: Path) -> None:
    with running(fake_service(tmp_path, at_once=1)) as port:
        headers = bearer("all") | {"Accept": "text/event-stream"}
        got = httpx.get(f"{BASE}:{port}/mcp", headers=headers, timeout=5)
        assert (got.status_code, got.json()["error"]["code"]) == (405, "method_not_allowed")


def test_too_many_wrong_tokens_are_429_and_shut_out_no_right_one(client: TestClient) -> None:
    for _ in range(2):
        sent = [client.get("/v1/models", headers=bearer("wrong")) for _ in range(40)]
        assert sent[-1].status_code == 429 and int(sent[-1].headers["retry-after"]) >= 1
        assert client.get("/v1/models", headers=bearer("asking")).status_code == 200
    assert client.get("/v1/models", headers=bearer("other")).status_code == 429


def test_tools_refuse_a_page_of_another_site(client: TestClient) -> None:
    for origin in FOREIGN:
        sent = client.post("/mcp", json={}, headers=bearer("all") | {"Origin": origin})
        assert (sent.status_code, sent.json()["error"]["code"]) == (403, "foreign_origin")
    for own in ({"Origin": BASE}, {}):
        assert client.post("/mcp", json={}, headers=bearer("all") | own).status_code != 403


def test_nobody_asks_without_a_token_over_a_network_or_through_a_proxy(tmp_path: Path) -> None:
    for listen in ("0.0.0.0:80", "10.0.0.7:80", "[::]:80", "service.example:80"):
        with pytest.raises(ConfigurationError, match="loopback"):
            check_serving(service_settings(tmp_path, anonymous="ask", listen=listen))
        check_serving(service_settings(tmp_path, listen=listen))
    with pytest.raises(ConfigurationError, match="proxy"):
        check_serving(service_settings(tmp_path, anonymous="ask", proxies=["127.0.0.1"]))


def test_only_own_names_are_served(tmp_path: Path) -> None:
    own = ("127.0.0.1", "localhost:8080", "[::1]:8080", "radar.example", "RADAR.example:80")
    foreign = ("evil.example", "127.0.0.1.evil.example", "")
    with TestClient(fake_service(tmp_path, hosts=["Radar.example"]), base_url=BASE) as client:
        for host in (*own, *foreign):
            sent = client.get("/healthz", headers={"Host": host})
            assert sent.status_code == (200 if host in own else 421), host


def test_every_response_has_the_security_headers(client: TestClient) -> None:
    sent = [client.get(path) for path in ("/openapi.json", "/nothing", "/v1/models")]
    for one in (*sent, client.get("/healthz", headers={"Host": "evil.example"})):
        policy = one.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "same-origin"
        assert one.headers["cache-control"] == "no-store"
        assert "server" not in one.headers


def test_a_session_reads_and_acts_with_the_token_of_its_page(client: TestClient) -> None:
    client.post("/console/sign-in", data={"token": "all"}, headers={"Origin": BASE})
    session = client.cookies[COOKIE]
    token = {"X-CSRF-Token": User("all", frozenset(Role), session).csrf}
    assert client.get("/answers").status_code == 200
    for given in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": "\u00e9".encode("latin-1")}):
        sent = client.post("/answers", json=ASKED, headers=given)
        assert (sent.status_code, sent.json()["error"]["code"]) == (403, "csrf")
    own = token | {"Origin": BASE}
    assert client.post("/answers", json=ASKED, headers=own).status_code == 200
    sites = [{"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")]
    for headers in (*({"Origin": origin} for origin in FOREIGN), *sites):
        sent = client.post("/answers", json=ASKED, headers=token | headers)
        assert (sent.status_code, sent.json()["error"]["code"]) == (403, "foreign_origin")
    client.post("/console/sign-out", headers=token)
    assert client.get("/answers", headers={"Cookie": f"{COOKIE}={session}"}).status_code == 401


def test_a_user_who_asks_too_much_waits_alone(tmp_path: Path) -> None:
    with TestClient(fake_service(tmp_path, questions_per_minute=2), base_url=BASE) as client:

        def ask(token: str) -> int:
            return client.post("/answers", json=ASKED, headers=bearer(token)).status_code

        assert ([ask("asking") for _ in range(3)], ask("all")) == ([200, 200, 429], 200)
        refused = client.post("/answers", json=ASKED, headers=bearer("asking"))
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/answers", headers=bearer("asking")).status_code == 200
