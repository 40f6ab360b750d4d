"""Documents that users bring to the service, by each of its doors."""

from base64 import b64encode
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from radarstream.pipelines.documents import WHY
from radarstream.pipelines.serving.app import create_app
from tests.documents import DOCX_TYPE, PNG, UNREADABLE, docx, pdf
from tests.pipelines.serving.test_mcp import calling, over_http, text_in
from tests.serving import PeopleInMemory, bearer, running, service_settings

BASE = "http://127.0.0.1"
CAPITAL = "What is the capital of Peru?"
TRUE = ("Lima is the capital of Peru.", "Lima is its capital.")
PDF = pdf("Minutes.", TRUE[0])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A service with scripted models that fetches addresses, but inner ones for nobody."""
    settings = service_settings(tmp_path_factory.mktemp("own"), fetch_addresses=True)
    near = settings.documents.model_copy(update={"inner_networks": (ip_network("127.0.0.0/8"),)})
    small = settings.limits.model_copy(update={"document_bytes": 1_000})
    settings = settings.model_copy(update={"documents": near, "limits": small})
    with running(create_app(settings, people=PeopleInMemory())) as opened:
        yield opened


@pytest.fixture
def client(port: int) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{BASE}:{port}", headers=bearer("all"), timeout=60) as opened:
        yield opened


def sent(data: bytes, media_type: str = "") -> dict[str, str]:
    return {"data": b64encode(data).decode(), "media_type": media_type}


def chat(**more: object) -> dict[str, object]:
    return {"model": "radarstream", "messages": [{"role": "user", "content": CAPITAL}]} | more


def asked(client: httpx.Client, *documents: object) -> Any:
    return client.post("/answers", json={"question": CAPITAL, "documents": documents})


def test_documents_of_every_kind_are_answered_from(client: httpx.Client) -> None:
    given = (sent(PDF), sent(docx(TRUE[1]), DOCX_TYPE), {"text": "Cusco is its capital."})
    reply = asked(client, *given).json()
    assert reply["answer"] == "Lima"
    assert [(one["rank"], one["page"]) for one in reply["citations"]] == [(1, 2), (2, None)]
    assert "document 1, p. 2" in reply["text"]
    body = chat(radarstream={"documents": given})
    replied = client.post("/v1/chat/completions", json=body).json()
    assert replied["radarstream"]["citations"] == reply["citations"]


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named_and_the_others_answer(
    client: httpx.Client, name: str
) -> None:
    data, suffix, why = UNREADABLE[name]
    kind = {".pdf": "application/pdf", ".docx": DOCX_TYPE, ".html": "text/html"}.get(suffix, "")
    reply = asked(client, {"text": TRUE[0]}, sent(data, kind), {"text": TRUE[1]}).json()
    assert (reply["answer"], reply["status"]) == ("Lima", "corroborated")
    assert [one["rank"] for one in reply["citations"]] == [1, 3]
    unread = {"rank": 2, "name": "documents.1.data", "reason": why, "why": WHY[why]}
    assert reply["unread"] == [unread]
    assert f"Not read: document 2: {WHY[why]}." in reply["text"]


@pytest.mark.parametrize(
    ("document", "code", "field"),
    [
        ({"url": "http://127.0.0.1:1/"}, "document_address", ".url"),
        ({"url": "http://10.0.0.7/"}, "document_address", ".url"),
        ({"url": "http://a.invalid/"}, "document_name", ".url"),
        ({"url": "file:///etc/passwd"}, "document_scheme", ".url"),
        ({"url": " "}, "invalid_value", ""),
        ({"data": "no base64!"}, "invalid_value", ".data"),
        ({"text": "Lima", "data": "TGltYQ=="}, "invalid_value", ""),
        ({"title": "nothing"}, "invalid_value", ""),
        ({"text": "x" * 1_001}, "document_text_size", ".text"),
        ({"text": ""}, "invalid_value", ".text"),
        ({"text": "x", "published_at": "0001-01-01T00:00+14:00"}, "invalid_value", ".published_at"),
    ],
)
@pytest.mark.parametrize("path", ["/answers", "/claims", "/v1/chat/completions"])
def test_what_is_no_document_is_refused_by_its_path(client, path, document, code, field) -> None:
    documents = {"documents": [document, document]}
    bodies = {
        "/answers": documents | {"question": CAPITAL},
        "/claims": documents | {"claim": TRUE[0]},
        "/v1/chat/completions": chat(radarstream=documents),
    }
    error = client.post(path, json=bodies[path]).json()["error"]
    inside = "radarstream." * path.startswith("/v1")
    assert (error["code"], error["param"]) == (code, f"{inside}documents.0{field}")
    assert error["message"].startswith(f"{error['param']}: ")


def test_addresses_are_fetched_only_where_the_settings_say_so(tmp_path: Path) -> None:
    settings = service_settings(tmp_path)
    with TestClient(create_app(settings, people=PeopleInMemory()), base_url=BASE) as client:
        client.headers.update(bearer("all"))
        refused = asked(client, {"url": "https://example.com/"})
        shown = client.get("/console/ask").text
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "addresses_refused")
    assert 'name="files"' in shown and 'name="addresses"' not in shown


def test_agents_bring_documents_too(port: int) -> None:
    given = {"question": CAPITAL, "documents": [sent(PDF), {"text": TRUE[1]}]}
    found = over_http(port, calling("ask", given)).structured_content
    assert [one["page"] for one in found["citations"]] == [2, None]
    locked = {"question": CAPITAL, "documents": [sent(pdf("Lima", password="secret"))]}
    refused = over_http(port, calling("ask", locked))
    assert refused.is_error and "document_encrypted: documents.0.data" in text_in(refused)


def test_the_console_takes_text_files_and_addresses(client: httpx.Client) -> None:
    del client.headers["Authorization"]
    client.post("/console/sign-in", data={"token": "all"})

    def shown(files: list[tuple[str, bytes]], **fields: str) -> str:
        csrf = client.get("/console/ask").text.partition('name="csrf" value="')[2][:64]
        form = {"csrf": csrf, "question": CAPITAL, "origin": "corpus"} | fields
        uploads = [("files", (name, data)) for name, data in files]
        return client.post("/console/ask", data=form, files=uploads or [("files", ("", b""))]).text

    page = shown([("minutes.pdf", PDF)], text=TRUE[1])
    assert "minutes.pdf" in page and "p. 2" in page and "is the capital of Peru." in page
    assert "too few independent sites" in shown([("minutes.pdf", PDF)])
    for odd in ("9" * 5_000, "101", "-1", "1.5", "two"):
        assert "Lying sites to withstand are a number from 0 to 100." in shown([], withstand=odd)
    assert "Lima" in shown([("minutes.pdf", PDF)], withstand="0").partition("<h2>Words")[0]
    page = shown([("picture.png", PNG), ("a.txt", TRUE[0].encode())], text=TRUE[1])
    assert f"Not read: <bdi>file picture.png: {WHY['media_type']}" in page
    assert "2 independent sites" in page
    refused = shown([("a.pdf", b"")])  # not the corpus
    assert f"File a.pdf: {WHY['no_text']}" in refused
    assert CAPITAL in refused and "<details open>" in refused
    assert f"Address http://10.0.0.7/: {WHY['address']}" in shown([], addresses="http://10.0.0.7/")


def test_an_upload_that_is_too_large_leads_back_to_its_form(tmp_path: Path) -> None:
    settings = service_settings(tmp_path, body_bytes=10_000, upload_bytes=20_000)
    with TestClient(create_app(settings, people=PeopleInMemory()), base_url=BASE) as client:
        client.post("/console/sign-in", data={"token": "all"})
        files = [("files", ("a.txt", b"x" * 20_000))]
        for path in ("/console/ask", "/console/check", "/console/nothing"):
            refused = client.post(path, data={"question": CAPITAL}, files=files)
            assert (refused.status_code, refused.headers["Connection"]) == (413, "close")
            assert "The request has more than 20,000 bytes." in refused.text
            assert ("<details open>" in refused.text) == (path != "/console/nothing")
