"""SerpApi against a local server: every error shape has a class, and none of them shows the key."""

import logging
import pickle
import traceback
from typing import Any

import pytest

from radarstream.connectors.serpapi.client import SerpApiClient
from radarstream.connectors.serpapi.failures import FailureClass, SearchFailedError, quotable
from radarstream.connectors.serpapi.options import SerpApiOptions
from radarstream.schemas.errors import ConfigurationError
from tests.connectors.serpapi.serpapi_server import JSON, KEY, Reply, SerpApiServer, page, results

HTML = "<html>down for maintenance, key {key}</html>"


def client_of(server: SerpApiServer, **options: Any) -> SerpApiClient:
    defaults = {"base_url": server.url, "timeout_s": 0.3, "answer_bytes": 20_000}
    return SerpApiClient(SerpApiOptions(**(defaults | options)))


SHAPES = {
    "bad request": (
        Reply({"error": "Unsupported `xx` country - gl parameter."}, 400),
        FailureClass.REFUSED,
    ),
    "bad request that echoes": (
        Reply({"error": "bad address /search?api_key={key}"}, 400),
        FailureClass.REFUSED,
    ),
    "not found": (Reply("", 404), FailureClass.REFUSED),
    "archive expired": (Reply({"error": "gone"}, 410), FailureClass.REFUSED),
    "throttled": (
        Reply({"error": "You are exceeding the hourly throughput limit."}, 429),
        FailureClass.THROTTLED,
    ),
    "throttled without words": (Reply(HTML, 429, "text/html"), FailureClass.THROTTLED),
    "out of searches": (
        Reply({"error": "Your account has run out of searches."}, 429),
        FailureClass.OUT_OF_SEARCHES,
    ),
    "server error": (Reply({"error": "oops {key}"}, 500), FailureClass.UNAVAILABLE),
    "unavailable, HTML": (Reply(HTML, 503, "text/html"), FailureClass.UNAVAILABLE),
    "error that is a list": (Reply(["{key}"], 500), FailureClass.MALFORMED),
    "error that is a number": (Reply("5", 502), FailureClass.MALFORMED),
    "error member that is an object": (Reply({"error": {"k": "{key}"}}, 400), FailureClass.REFUSED),
    "HTML with 200": (Reply(HTML, 200, "text/html"), FailureClass.MALFORMED),
    "text with 200": (Reply("plain {key}", 200, "text/plain"), FailureClass.MALFORMED),
    "half JSON": (Reply('{"search_metadata": {"id', 200), FailureClass.MALFORMED),
    "cut short": (Reply('{"a": "', 200, truncate=True), FailureClass.MALFORMED),
    "a list": (Reply([1, 2], 200), FailureClass.MALFORMED),
    "a number": (Reply("7", 200), FailureClass.MALFORMED),
    "deep": (Reply('{"a":' * 3_000 + "1" + "}" * 3_000, 200), FailureClass.MALFORMED),
    "empty": (Reply("", 200), FailureClass.MALFORMED),
    "too large": (Reply({"a": "x" * 30_000}, 200), FailureClass.MALFORMED),
    "wrong gzip": (
        Reply(b"nonsense", 200, JSON, {"Content-Encoding": "gzip"}),
        FailureClass.MALFORMED,
    ),
    "redirect": (
        Reply("", 302, JSON, {"Location": "http://127.0.0.1:9/?k={key}"}),
        FailureClass.REFUSED,
    ),
    "reset": (Reply("", reset=True), FailureClass.UNAVAILABLE),
    "hang": (Reply("", hang=True), FailureClass.TIMEOUT),
}


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


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_classed_and_none_shows_the_key(
    server: SerpApiServer, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    reply, kind = SHAPES[shape]
    server.replies.append(reply)
    caplog.set_level(logging.DEBUG)
    client = client_of(server)
    parameters = {"q": "cup"}
    with pytest.raises(SearchFailedError) as caught:
        client.search(parameters, seconds=5.0)
    assert caught.value.kind is kind
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert KEY not in everything_said(caught.value, caplog.text)
    assert KEY not in repr(client) + repr(vars(client))
    assert parameters == {"q": "cup"}
    assert server.requests[0]["api_key"] == KEY  # or the test would prove nothing
    assert pickle.loads(pickle.dumps(caught.value)).kind is kind


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_a_wrong_setting(server: SerpApiServer, status: int) -> None:
    server.replies.append(Reply({"error": "Invalid API key: {key}"}, status))
    with pytest.raises(ConfigurationError, match="SERPAPI_KEY") as caught:
        client_of(server).search({"q": "cup"}, seconds=5.0)
    assert KEY not in everything_said(caught.value, "")


def test_nobody_listening(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = SerpApiClient(SerpApiOptions(base_url="http://127.0.0.1:9", timeout_s=1.0))
    with pytest.raises(SearchFailedError) as caught:
        client.search({"q": "cup"}, seconds=5.0)
    assert caught.value.kind is FailureClass.UNAVAILABLE
    assert KEY not in everything_said(caught.value, caplog.text)


def test_a_dripping_answer_ends_with_the_deadline(server: SerpApiServer) -> None:
    server.replies.append(Reply({"a": "x" * 5_000}, drip_s=0.01))
    with pytest.raises(SearchFailedError) as caught:
        client_of(server).search({"q": "cup"}, seconds=0.2)
    assert caught.value.kind is FailureClass.TIMEOUT


def test_a_good_answer_and_no_line_of_it_in_the_log(
    server: SerpApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = client_of(server)
    wanted = page(results(1, 3))
    server.replies.append(Reply(wanted))
    assert client.search({"q": "cup"}, seconds=5.0) == wanted
    assert KEY not in caplog.text
    client.close()


def test_the_reason_of_a_refusal_is_told(server: SerpApiServer) -> None:
    server.replies.append(SHAPES["bad request"][0])
    with pytest.raises(SearchFailedError, match="Unsupported `xx` country"):
        client_of(server).search({"q": "cup"}, seconds=5.0)


@pytest.mark.parametrize(
    ("said", "repeated"),
    [
        ("plain words", "plain words"),
        (f"key={KEY}", ""),
        (f"key ends in {KEY[-6:]}", ""),
        (f"KEY {KEY[10:20].upper()}", ""),
        ("a\x1b[31m\nb", "a [31m b"),
        (None, ""),
        ({"a": 1}, ""),
        ("x" * 1_000, "x" * 159 + "…"),
    ],
)
def test_words_of_the_service_are_repeated_only_when_safe(said: object, repeated: str) -> None:
    assert quotable(said, KEY) == repeated


@pytest.mark.parametrize("value", ["", " ", "two words", "line\nbreak", "ключ"])
def test_a_variable_without_a_key_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERPAPI_KEY", value)
    with pytest.raises(ConfigurationError, match="SERPAPI_KEY"):
        SerpApiClient(SerpApiOptions())


@pytest.mark.parametrize(
    "url",
    [
        "http://serpapi.com",
        "ftp://127.0.0.1",
        "https://",
        "https://u:p@serpapi.com",
        "https://s/?a=1",
    ],
)
def test_the_key_is_not_sent_in_the_clear(url: str) -> None:
    with pytest.raises(ValueError, match="must"):
        SerpApiOptions(base_url=url)
