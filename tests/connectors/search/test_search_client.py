"""Services on loopback: every error shape has a class, and none of them shows the key."""

import logging
import pickle
import traceback
from datetime import UTC, datetime
from gzip import compress
from typing import Any

import pytest

from radarstream.connectors.search.client import SearchClient, quotable
from radarstream.connectors.search.options import SearchOptions
from radarstream.connectors.search.service import Call
from radarstream.pipelines.searching import opened_search, search_client
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import Query
from tests.clocks import FakeClock
from tests.connectors.search.search_server import KEY, SearchServer, page, results
from tests.connectors.search.services import CASES, brave_error
from tests.replies import JSON, Reply

CUP = SearchRequest(Query("cup", "Who won the cup?"))
HTML = "<html>down for maintenance, key {key}</html>"


def client_of(server: SearchServer, name: str = "serpapi", **more: Any) -> SearchClient:
    options = {"name": name, "api_key_variable": CASES[name].variable, "timeout_s": 30.0}
    defaults = {"base_url": server.url, "answer_bytes": 20_000}
    return search_client(SearchOptions(**(options | defaults | more)))


SHAPES = {
    FailureClass.REFUSED: {
        "bad request": Reply({"error": "Unsupported `xx` country - gl parameter."}, 400),
        "bad request that echoes": Reply({"error": "bad address /search?api_key={key}"}, 400),
        "not found": Reply("", 404),
        "error member that is an object": Reply({"error": {"k": "{key}"}}, 400),
        "redirect": Reply("", 302, JSON, {"Location": "http://127.0.0.1:9/?k={key}"}),
    },
    FailureClass.THROTTLED: {
        "throttled": Reply({"error": "You are exceeding the limit."}, 429),
        "throttled without words": Reply(HTML, 429, "text/html"),
    },
    FailureClass.UNAVAILABLE: {
        "server error": Reply({"error": "oops {key}"}, 500),
        "unavailable, HTML": Reply(HTML, 503, "text/html"),
        "error that is a list": Reply(["{key}"], 500),
        "reset": Reply(close=True),
    },
    FailureClass.MALFORMED: {
        "HTML with 200": Reply(HTML, 200, "text/html"),
        "half JSON": Reply('{"search_metadata": {"id'), "cut short": Reply({"a": "b"}, half=True),
        "a list": Reply([1, 2]), "deep": Reply('{"a":' * 3_000 + "1" + "}" * 3_000),
        "endless number": Reply('{"a": ' + "9" * 9_000 + "}"), "empty": Reply(""),
        "too large": Reply({"a": "x" * 30_000}),
        "gzip": Reply(compress(b'{"results": []}'), headers={"Content-Encoding": "gzip"}),
    },
    FailureClass.TIMEOUT: {"hang": Reply(hang=True)},
}  # fmt: skip


def everything_said(error: BaseException, log: str) -> str:
    """What a careless logger could write about an error: its text, causes and their frames."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None:
        chain.append(current)
        current = current.__cause__ or current.__context__
    lines = [log]
    for link in chain:
        report = traceback.TracebackException.from_exception(link, capture_locals=True)
        lines += [*report.format(), repr(link), str(link), repr(vars(link))]
    return "".join(lines)


FAILURES = {shape: (reply, kind) for kind, some in SHAPES.items() for shape, reply in some.items()}
OWN = [(name, shape) for name, case in CASES.items() for shape in (FAILURES | case.failures)]


@pytest.mark.parametrize(("name", "shape"), OWN)
def test_every_shape_is_classed_and_none_shows_the_key(server, name, shape, caplog):
    reply, kind = (FAILURES | CASES[name].failures)[shape]
    server.replies.append(reply)
    caplog.set_level(logging.DEBUG)
    client = client_of(server, name, timeout_s=1.0 if reply.hang else 30.0)
    call = client.service.call(CUP, 0)
    with pytest.raises((SearchFailedError, ConfigurationError)) as caught:
        client.service.read(client.search(call, seconds=30.0), 0, datetime.now(UTC))
    assert getattr(caught.value, "kind", type(caught.value)) is kind
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert KEY not in everything_said(caught.value, caplog.text)
    assert KEY not in repr(client) + repr(vars(client))
    assert server.keys == [KEY]  # or the test would prove nothing
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_a_wrong_setting(server: SearchServer, name: str, status: int) -> None:
    server.replies.append(Reply({"error": "Invalid API key: {key}"}, status))
    json_is_off = name == "searxng" and status == 403
    said = "settings.yml" if json_is_off else CASES[name].variable
    client = client_of(server, name)
    with pytest.raises(ConfigurationError, match=said) as caught:
        client.search(client.service.call(CUP, 0), seconds=30.0)
    assert KEY not in everything_said(caught.value, "")


@pytest.mark.parametrize("name", CASES)
def test_the_check_of_a_service_is_no_search(server: SearchServer, name: str) -> None:
    client = client_of(server, name)
    server.replies += [CASES[name].ready, Reply({"error": "{key}"}, 401), Reply(close=True)]
    assert server.url in client.check()
    with pytest.raises(ConfigurationError, match=CASES[name].variable):
        client.check()
    with pytest.raises(SearchFailedError, match=r"unreachable \(search.base_url\)"):
        client.check()
    assert not any(r.get("q") or r.get("query") for r in server.requests)


@pytest.mark.parametrize(
    ("headers", "pause_s"),
    [
        ({"Retry-After": "7"}, 7.0), ({"X-RateLimit-Reset": "1, 1419704"}, 1.0),
        ({"X-RateLimit-Reset": "soon"}, 0.0), ({"Retry-After": "9" * 30}, 3_600.0), ({}, 0.0),
    ],
)  # fmt: skip
def test_a_service_says_how_long_it_wants_to_be_left_alone(server, headers, pause_s):
    server.replies.append(brave_error(429, "RATE_LIMITED", **headers))
    with pytest.raises(SearchFailedError) as caught:
        client_of(server, "brave").search(Call("/"), seconds=30.0)
    assert caught.value.retry_after_s == pause_s


def test_nobody_listening_and_dripping_answers(server, caplog) -> None:
    server.replies.append(Reply({"a": "x" * 5_000}, drip_s=0.01))
    with pytest.raises(SearchFailedError) as caught:
        client_of(server).search(Call("/search"), seconds=0.2)
    assert caught.value.kind is FailureClass.TIMEOUT
    caplog.set_level(logging.DEBUG)
    for url in ("http://127.0.0.1:9", "https://a b"):
        client = search_client(SearchOptions(base_url=url, timeout_s=1.0))
        with pytest.raises(SearchFailedError) as caught:
            client.search(Call("/search"), seconds=5.0)
        assert caught.value.kind is FailureClass.UNAVAILABLE
        assert KEY not in everything_said(caught.value, caplog.text)


def test_good_answers_and_reasons_of_refusals(server, caplog):
    caplog.set_level(logging.DEBUG)
    client = client_of(server)
    wanted = page(results(1, 3))
    server.replies.append(Reply(wanted))
    assert client.search(Call("/search"), seconds=30.0) == wanted
    assert KEY not in caplog.text
    client.close()
    server.replies.append(FAILURES["bad request"][0])
    with pytest.raises(SearchFailedError, match="Unsupported `xx` country"):
        client_of(server).search(Call("/search"), seconds=5.0)


def test_words_of_the_service_are_repeated_only_when_safe() -> None:
    for said, repeated in [
        ("plain words", "plain words"), (f"key={KEY}", ""), (f"key ends in {KEY[-6:]}", ""),
        (f"KEY {KEY[10:20].upper()}", ""), ("a\x1b[31m\nb", "a [31m b"), (None, ""),
        ({"a": 1}, ""), ("x" * 1_000, "x" * 159 + "…"),
    ]:  # fmt: skip
        assert quotable(said, KEY) == repeated


@pytest.mark.parametrize("value", ["", " ", "two words", "line\nbreak", "ключ"])
def test_a_variable_without_a_key_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, variable in [("serpapi", "SERPAPI_KEY"), ("brave", "BRAVE_API_KEY")]:
        monkeypatch.setenv(variable, value)
        with pytest.raises(ConfigurationError, match=variable):
            search_client(SearchOptions(name=name))


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1", "https://", "https://u:p@a.org", "https://s/?a=1"]
)
def test_what_is_no_address_of_a_service(url: str) -> None:
    with pytest.raises(ValueError, match="must"):
        SearchOptions(base_url=url)


def test_wrong_settings_are_named(monkeypatch) -> None:
    with pytest.raises(ConfigurationError, match="https"):
        search_client(SearchOptions(base_url="http://serpapi.com"))
    inside = SearchOptions(name="searxng", base_url="http://searxng:8080/")
    assert search_client(inside).base_url == "http://searxng:8080"  # there is no key
    with pytest.raises(
        ConfigurationError, match="no search service named 'gogle'; there are serpapi"
    ):
        search_client(SearchOptions(name="gogle"))
    with pytest.raises(ConfigurationError, match="options of search service 'searxng': engine"):
        search_client(SearchOptions(name="searxng", options={"engine": "brave"}))
    monkeypatch.delenv("SERPAPI_KEY")
    opened = opened_search(load_settings(profile="scripted"), FakeClock())
    with pytest.raises(ConfigurationError, match="SERPAPI_KEY") as caught, opened:
        pass
    assert 'search.name = "searxng"' in caught.value.remedy
    assert search_client(SearchOptions(name="searxng")).variable == ""
