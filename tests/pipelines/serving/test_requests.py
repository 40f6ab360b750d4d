"""Whatever a client sends: never a 500, and nothing of others in an error."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radarstream.pipelines.serving.errors import service_error
from radarstream.pipelines.serving.replies import harmless
from radarstream.schemas.errors import BudgetSpentError, ConfigurationError
from tests.serving import FakeAsker, bearer, fake_service, reply_to

BASE = "http://127.0.0.1"
HEADERS = bearer("all") | {"Content-Type": "application/json"}
POSTS = ("/v1/chat/completions", "/answers", "/reports")
FIELDS = (
    "model messages role content type text stream n tools radarstream source documents wanted "
    "question defense query answer step comment url title published_at stream_options"
)
NAMES = st.sampled_from(FIELDS.split())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
SCALARS |= st.sampled_from(["radarstream", "radar", "user", "text", "corpus", "documents"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
ABOUT = {"url": st.text(max_size=20), "published_at": st.datetimes().map(str)}
DOCUMENT = st.fixed_dictionaries({"text": st.text(max_size=20)}, optional=ABOUT)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("radarstream") | VALUES,
        "messages": st.just([{"role": "user", "content": "Where?"}]) | VALUES,
        "question": st.text(max_size=30) | VALUES,
        "query": st.text(max_size=30) | VALUES,
        "documents": st.lists(DOCUMENT, max_size=3),
        "radarstream": VALUES,
        "step": VALUES,
        "stream": st.booleans(),
    },
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    app = fake_service(tmp_path_factory.mktemp("service"))
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as opened:
        yield opened


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    path=st.sampled_from(POSTS),
    body=st.binary(max_size=60) | (VALUES | NEARLY).map(lambda value: json.dumps(value).encode()),
)
def test_no_body_breaks_the_service(client: TestClient, path: str, body: bytes) -> None:
    sent = client.post(path, content=body, headers=HEADERS)
    assert sent.status_code in (200, 201, 400, 404, 429), (body, sent.text)
    if sent.status_code >= 400:
        error = sent.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"] and error["code"]


@settings(max_examples=30, deadline=None)
@given(query=st.text(max_size=40), search=st.text(max_size=40), seen=st.text(max_size=15))
def test_no_address_breaks_the_service(client, query, search, seen) -> None:
    path = quote(query, safe="", errors="replace")
    assert client.get(f"/answers/{path}", headers=HEADERS).status_code in (200, 400, 404)
    parameters = urlencode({"search": search, "limit": seen}, errors="replace")
    assert client.get(f"/answers?{parameters}", headers=HEADERS).status_code in (200, 400)


@pytest.mark.parametrize(
    ("body", "code"),
    [(b"", "malformed_json"), (b"{", "malformed_json"), (b"[]", "wrong_type"),
     (b'{"model": NaN}', "not_finite"), (b'{"model": 1e999}', "not_finite"),
     (b'{"model": "a", "model": "b"}', "malformed_json"),
     (b'{"model": "\\ud800"}', "invalid_encoding"), (b"\xff", "invalid_encoding"),
     (b'{"model": "a\\u0000"}', "control_character"),
     (b'{"a":' * 100 + b"1" + b"}" * 100, "malformed_json"),
     (b'{"model": 5, "messages": "x"}', "invalid_value")],
)  # fmt: skip
def test_a_body_that_cannot_be_read_is_said(client: TestClient, body: bytes, code: str) -> None:
    sent = client.post("/v1/chat/completions", content=body, headers=HEADERS)
    assert (sent.status_code, sent.json()["error"]["code"]) == (400, code)


def test_only_json_is_read(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = bearer("all") | {"Content-Type": kind}
        assert client.post("/answers", content=b"{}", headers=headers).status_code == 415


def test_what_a_client_sent_is_not_repeated(client: TestClient) -> None:
    body = {"model": "radarstream", "messages": [{"role": "PRIVATE", "content": "PRIVATE"}]}
    sent = client.post("/v1/chat/completions", json=body, headers=HEADERS)
    assert sent.status_code == 400 and "PRIVATE" not in sent.text
    assert "messages.0.role" in sent.json()["error"]["message"]


def test_a_defect_tells_nothing(tmp_path: Path) -> None:
    def broken(question: object) -> None:
        raise ZeroDivisionError("SECRET TEXT")

    app = fake_service(tmp_path, FakeAsker(broken))  # type: ignore[arg-type]
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        sent = client.post("/answers", json={"question": "Where?"}, headers=HEADERS)
    assert (sent.status_code, sent.json()["error"]["code"]) == (500, "internal_error")
    assert "SECRET" not in sent.text and "Zero" not in sent.text


def test_hostile_titles_and_addresses_stay_out_of_the_text(tmp_path: Path) -> None:
    asker = FakeAsker(lambda q: reply_to(q, "Paris ![x](http://evil.example/?q) <img src=y>"))
    with TestClient(fake_service(tmp_path, asker), base_url=BASE) as client:
        told = client.post("/answers", json={"question": "Where?"}, headers=HEADERS).json()
    assert "![" not in told["text"] and "\\<img" in told["text"]
    assert "javascript" not in told["text"]


def test_sizes_are_limited_before_anything_is_parsed(tmp_path: Path) -> None:
    app = fake_service(tmp_path, body_bytes=1_000, upload_bytes=2_000, question_characters=50)
    with TestClient(app, base_url=BASE) as client:
        for size, headers in ((2_001, HEADERS), (1_001, {}), (1_001, bearer("unknown"))):
            large = client.post("/answers", content=b"x" * size, headers=headers)
            assert (large.status_code, large.json()["error"]["code"]) == (413, "request_too_large")
        own = {"question": "Where?", "documents": [{"text": "x" * 1_000}]}
        assert client.post("/answers", json=own, headers=HEADERS).status_code == 200
        with ExitStack() as taken:
            for share in "abcdefgh":
                taken.enter_context(app.state.context.uploads.taken(share))
            busy = client.post("/answers", json=own, headers=HEADERS)
            assert busy.json()["error"]["code"] == "overloaded"

        def parts() -> Iterator[bytes]:
            for _ in range(11):
                yield b"x" * 100

        assert client.post("/answers", content=parts(), headers=HEADERS).status_code == 413
        long = client.post("/answers", json={"question": "x" * 51}, headers=HEADERS)
        assert long.json()["error"]["code"] == "question_too_long"


def test_what_is_not_set_up_is_in_the_log_alone() -> None:
    told = service_error(ConfigurationError("the environment variable SERPAPI_KEY is not set"))
    assert (told.status, told.code) == (500, "misconfigured")
    assert "log" in told.message and "SERPAPI" not in told.message


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
