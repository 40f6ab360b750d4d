"""What OWASP ASVS asks of sessions, forms, headers and output, as far as it applies here."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import select, update

from radarstream.connectors.state_table.database.tables import SESSIONS
from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.serving.users import revoke_user
from radarstream.pipelines.serving.console.routes import ACTIONS
from radarstream.pipelines.serving.console.showing import MENU, asset, own_path
from tests.pipelines.serving.console_rig import (
    NOW_MS,
    app_of,
    client_of,
    seeded,
    settings_of,
    sign_in,
)

COOKIE = "radarstream_session"
QUICK = tuple(path for path, _, _ in MENU if "dead-letters" not in path)  # that one asks a broker
PAGES = (
    *QUICK, "/console/answer?query=watch-000", "/console/source?domain=quick-answers.example",
    "/console/act/block?domain=fact-hub.example", "/console/report?query=watch-000&step=5",
)  # fmt: skip
BLOCKING = "/console/act/block?domain=fact-hub.example"
TARGET = {"id": "0", "query": "q-mayor", "domain": "fact-hub.example"}
WITHOUT = ("/console/sign-in", "/console/nothing", "/console/incident?id=")
STEPS = ("9" * 19, "9" * 40, "-1")
ODD = (
    "/console/answer?query=<script>",
    "/console/incident?id=zz",
    "/console/source?domain=%00",
    *(f"/console/report?query=x&step={step}" for step in STEPS),
)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    settings = settings_of(tmp_path_factory.mktemp("service"))
    return app_of(settings, seeded(settings))


@pytest.fixture
def client(app) -> Iterator[httpx.Client]:
    with client_of(app) as client:
        yield client


def csrf_of(client: httpx.Client, path: str = BLOCKING) -> str:
    return re.search(r'name="csrf" value="([^"]+)"', client.get(path).text)[1]


# Sessions (ASVS V3)


def test_a_session_begins_with_a_new_secret_and_ends_the_one_before(app, client):
    client.cookies.set(COOKIE, "chosen-by-an-attacker", domain="127.0.0.1", path="/")
    first = sign_in(client).cookies[COOKIE]
    client.cookies.clear()
    client.cookies.set(COOKIE, first)
    second = sign_in(client).cookies[COOKIE]
    assert len({"chosen-by-an-attacker", first, second}) == 3
    assert stays_signed_in(client, second)
    assert not stays_signed_in(client, first)


def test_the_cookie_keeps_to_this_site_and_from_scripts(client):
    header = sign_in(client).headers["set-cookie"].lower()
    for words in ("httponly", "samesite=strict", "path=/", f"max-age={12 * 3600}"):
        assert words in header
    assert "domain=" not in header
    assert "secure" not in header  # on loopback without TLS a browser would drop it


def test_beyond_loopback_the_cookie_is_secure(app):
    with client_of(app, "http://192.0.2.7") as client:
        assert "secure" in sign_in(client).headers["set-cookie"].lower()
    with client_of(app, "https://127.0.0.1") as client:
        response = sign_in(client)
        assert "secure" in response.headers["set-cookie"].lower()
        assert response.headers["strict-transport-security"]


def test_signing_out_ends_the_session_everywhere_and_nobody_signs_another_out(client):
    secret = sign_in(client).cookies[COOKIE]
    assert client.post("/console/sign-out", data={}).status_code == 403
    assert stays_signed_in(client, secret)
    response = client.post("/console/sign-out", data={"csrf": csrf_of(client)})
    assert response.headers["location"] == "/console/sign-in"
    client.cookies.clear()
    assert not stays_signed_in(client, secret)


def test_a_session_expires_and_a_revoked_user_is_out_at_once(tmp_path):
    settings = settings_of(tmp_path)
    engine = seeded(settings)
    app = app_of(settings, engine)
    for revoked in (True, False):
        with client_of(app) as client:
            secret = sign_in(client, "bob" if revoked else "ada").cookies[COOKIE]
            with engine.begin() as connection:
                if not revoked:
                    connection.execute(update(SESSIONS).values(expires_ms=1))
            if revoked:
                revoke_user(engine, "bob", NOW_MS)
            app.state.context.by_session.forget(secret)
            assert not stays_signed_in(client, secret)


def test_secrets_are_stored_as_digests_and_shown_nowhere(app, client):
    secret = sign_in(client).cookies[COOKIE]
    with app.state.context.engine.connect() as connection:
        stored = connection.execute(select(SESSIONS.c.id_hash)).scalars().all()
    assert secret.encode() not in stored
    token = app.state.tokens["ada"]
    for path in PAGES:
        text = client.get(path).text
        assert secret not in text and token not in text
        links = re.findall(r'(?:href|action)="([^"]*)"', text)
        assert not [link for link in links if "csrf" in link or "token=" in link]


def test_wrong_tokens_are_refused_in_the_same_words_and_soon_not_looked_at(tmp_path):
    settings = settings_of(tmp_path)
    with client_of(app_of(settings, seeded(settings))) as client:
        told = [client.post("/console/sign-in", data={"token": word}) for word in ("x", "", "rs_y")]
        assert [response.status_code for response in told] == [401] * 3
        assert len({re.sub(r"\s+", " ", response.text) for response in told}) == 1
        codes = [client.post("/console/sign-in", data={"token": "x"}) for _ in range(40)]
        assert codes[-1].status_code == 429
        assert int(codes[-1].headers["retry-after"]) > 0
        assert "set-cookie" not in codes[-1].headers


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/\\evil.example",
                                  "javascript:alert(1)", "/v1/models", "/console/\nx"])  # fmt: skip
def test_signing_in_leads_to_no_other_site(client, app, path):
    assert own_path(path) == "/"
    response = client.post("/console/sign-in", params={"next": path},
                           data={"token": app.state.tokens["ada"]})  # fmt: skip
    assert response.headers["location"] == "/"


# Access (ASVS V4)


@pytest.mark.parametrize(("path", "_name", "roles"), MENU)
def test_pages_open_to_their_roles_alone(client, path, _name, roles):
    if "dead-letters" in path:  # asks the broker
        return
    for user, role in (("bob", "operate"), ("cleo", "ask"), ("dan", "report")):
        client.cookies.clear()
        sign_in(client, user)
        assert client.get(path).status_code == (200 if role in roles else 403)
        assert (f'href="{path}"' in client.get("/").text) == (role in roles or path == "/")
        if role == "ask":
            assert "This is wrong" not in client.get("/console/answer?query=watch-000").text
            form = {"csrf": csrf_of(client, "/console/ask")}
            assert client.post(PAGES[-1], data=form).status_code == 403  # a report


# Forms


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_needs_the_csrf_token_of_the_session(app, client, name):
    sign_in(client)
    for form in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
        assert client.post(f"/console/act/{name}", params=TARGET, data=form).status_code == 403
    client.get(f"/console/act/{name}", params=TARGET)  # looking changes nothing
    assert read_actions(app.state.context.engine) == []


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Site": "same-site"}]
)  # fmt: skip
def test_forms_of_other_sites_are_refused(client, app, headers):
    sign_in(client)
    form = {"csrf": csrf_of(client), "seen": ""}
    assert client.post(BLOCKING, data=form, headers=headers).status_code == 403
    data = {"token": app.state.tokens["ada"]}
    refused = client.post("/console/sign-in", data=data, headers=headers)
    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers


def test_odd_forms_are_refused_plainly(client):
    sign_in(client)
    csrf = csrf_of(client)
    header = {"X-CSRF-Token": csrf}
    assert client.post(BLOCKING, json={"csrf": csrf}, headers=header).status_code == 415
    many = {f"f{n}": "x" for n in range(50)}
    assert client.post(BLOCKING, data=many, headers=header).status_code == 400
    assert client.post("/console/act/none", data={"csrf": csrf}).status_code == 404


# Headers and output (ASVS V5, V14)


@pytest.mark.parametrize("path", [*PAGES, *WITHOUT])
def test_pages_forbid_what_they_do_not_need(client, path):
    sign_in(client)
    response = client.get(path)
    policy = dict(part.strip().partition(" ")[::2] for part in
                  response.headers["content-security-policy"].split(";"))  # fmt: skip
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    expected = {"x-frame-options": "DENY", "x-content-type-options": "nosniff",
                "referrer-policy": "same-origin", "cache-control": "no-store",
                "content-type": "text/html; charset=utf-8"}  # fmt: skip
    assert expected.items() <= dict(response.headers).items()
    text = response.text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"\son\w+\s*=", re.sub(r'"[^"]*"', '""', text))
    assert "<style" not in text
    sources = re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', text)
    assert all(source.startswith(("/console/files/", "data:,")) for source in sources)


def test_links_to_other_sites_say_nothing_of_us(client):
    sign_in(client)
    for path in PAGES:
        for tag in re.findall(r"<a [^>]*>", client.get(path).text):
            address = re.search(r'href="([^"]*)"', tag)[1]
            if urlsplit(address).netloc:
                assert address.startswith(("http://", "https://"))
                assert 'rel="noopener noreferrer nofollow"' in tag


@pytest.mark.parametrize("name", ["page.css", "page.js", "console.js"])
def test_files_are_served_by_content(client, name):
    response = client.get(asset(name))
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]
    assert client.get(f"/console/files/000000000000/{name}").status_code == 404
    assert client.get("/console/files/x/frame.html.j2").status_code == 404


def test_errors_tell_nothing_of_the_inside(client, app):
    sign_in(client)
    for path in ODD:
        response = client.get(path)
        assert response.status_code in (400, 404) and "Traceback" not in response.text
        assert "<script>" not in response.text.replace("<script src=", "")


def stays_signed_in(client: httpx.Client, secret: str) -> bool:
    client.cookies.clear()
    client.cookies.set(COOKIE, secret)
    return client.get("/").status_code == 200
