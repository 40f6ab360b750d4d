"""The service when something is slow, down, in a hurry or killed."""

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import httpx
import openai
import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.serving import openai_api
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.serving.people import User
from radarstream.pipelines.serving.server import bound, run_service
from tests.pipelines.serving.test_openai_client import client_of
from tests.serving import (
    FakeAsker,
    HeldAsker,
    PeopleInMemory,
    bearer,
    fake_service,
    running,
    service_settings,
)

FORK = get_context("fork")
BASE = "http://127.0.0.1"
ASKED = {"question": "Where?"}
CHAT = {"model": "radarstream", "messages": [{"role": "user", "content": "Where?"}]}
HEADERS = bearer("all")
TIMEOUT = httpx.Timeout(20)
POLLING = httpx.Client(timeout=TIMEOUT)  # each call of httpx.get would read certificates


@pytest.fixture
def held() -> Iterator[HeldAsker]:
    asker = HeldAsker()
    yield asker
    asker.released.set()


def test_a_question_that_takes_too_long_is_504(tmp_path: Path, held: HeldAsker) -> None:
    with TestClient(fake_service(tmp_path, held, timeout_s=0.05), base_url=BASE) as client:
        sent = client.post("/answers", json=ASKED, headers=HEADERS)
        assert (sent.status_code, sent.json()["error"]["code"]) == (504, "timeout")
        held.released.set()


def asks(port: int) -> httpx.Response:
    """What the service answers to a question."""
    return httpx.post(f"{BASE}:{port}/answers", json=ASKED, headers=HEADERS, timeout=TIMEOUT)


def test_more_than_at_once_is_503_and_health_still_answers(tmp_path: Path, held: HeldAsker) -> None:
    with running(fake_service(tmp_path, held, at_once=2)) as port, ThreadPoolExecutor(2) as pool:
        url, waiting = f"{BASE}:{port}", [pool.submit(asks, port)]
        assert held.begun.wait(20)
        waiting.append(pool.submit(asks, port))
        while in_hand(url) < 2:
            pass
        refused = asks(port)
        assert refused.status_code == 503 and refused.headers["retry-after"]
        assert httpx.get(f"{url}/healthz").status_code == 200
        held.released.set()
        assert [sent.result(20).status_code for sent in waiting] == [200, 200]


def in_hand(url: str) -> float:
    lines = POLLING.get(f"{url}/metrics", headers=HEADERS).text.splitlines()
    name = "radarstream_http_requests_in_hand "
    return next(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def head(length: int) -> bytes:
    return (
        "POST /answers HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer all\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize("part", [b"POST /answers HT", head(100) + b'{"question'])
def test_a_slow_client_is_given_up_and_blocks_nobody(tmp_path, part, monkeypatch) -> None:
    monkeypatch.setattr("radarstream.pipelines.serving.server.HEAD_S", 0.3)
    with (
        running(fake_service(tmp_path, request_s=0.3)) as port,
        closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as slow,
    ):
        slow.sendall(part)
        assert asks(port).status_code == 200
        try:
            said = slow.recv(65_536)
        except ConnectionResetError:
            said = b""
        assert said == b"" or said.startswith(b"HTTP/1.1 408")


class PeopleAway(PeopleInMemory):
    def by_token(self, token: str) -> User | None:
        raise OperationalError("SELECT SECRET", {}, ConnectionError("db.internal refused"))


def test_a_database_that_is_down_is_503(tmp_path: Path) -> None:
    app = create_app(service_settings(tmp_path), FakeAsker(), people=PeopleAway())
    with TestClient(app, base_url=BASE) as client:
        sent = client.post("/v1/chat/completions", json=CHAT, headers=HEADERS)
        assert sent.status_code == 503 and sent.headers["retry-after"]
        assert sent.json()["error"]["code"] == "database_unavailable"
        assert "SECRET" not in sent.text and "internal" not in sent.text
        app.state.context.engine.dispose()
        for file in tmp_path.glob("state.sqlite*"):
            file.unlink()
        tmp_path.joinpath("state.sqlite").mkdir()
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]["database"]) == (503, False)
        assert client.get("/healthz").status_code == 200


def test_a_stop_finishes_what_is_in_hand(tmp_path: Path, held: HeldAsker) -> None:
    stop = Stop()
    with running(fake_service(tmp_path, held), stop) as port, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(asks, port)
        assert held.begun.wait(20)
        stop.event.set()
        while True:  # until nobody is let in any more
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
            except ConnectionError:  # refused, or reset while the door was closing
                break
        held.released.set()
        assert asking.result(20).status_code == 200


@contextmanager
def process(folder: Path, *, answers: bool, **given: object) -> Iterator[tuple[int, int]]:
    """A service in a process of its own: its port and id; killed at the end if it still runs."""
    listening = bound("127.0.0.1:0")
    asker = FakeAsker() if answers else HeldAsker()
    app = partial(fake_service, folder, asker, **given)
    child = FORK.Process(target=lambda: run_service(app(), listening))
    child.start()
    port = listening.getsockname()[1]
    listening.close()
    try:
        assert child.pid is not None
        yield port, child.pid
        child.join(20)
        assert child.exitcode in (0, -signal.SIGKILL)
    finally:
        child.kill()
        child.join(20)


def test_killed_in_a_stream_a_client_hears_and_asks_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(openai_api, "EARLY_S", 0.01)
    with process(tmp_path, answers=False) as (port, pid):
        stream = client_of(port, "all").chat.completions.create(**CHAT, stream=True)
        assert next(iter(stream)).choices[0].delta.role == "assistant"
        os.kill(pid, signal.SIGKILL)
        with pytest.raises((httpx.HTTPError, openai.APIError)):
            list(stream)
    with process(tmp_path, answers=True) as (port, pid):
        chunks = list(client_of(port, "all").chat.completions.create(**CHAT, stream=True))
        assert chunks[-1].choices[0].finish_reason == "stop"
        os.kill(pid, signal.SIGTERM)


def test_an_error_after_the_stream_began_is_an_event(tmp_path, monkeypatch, held) -> None:
    monkeypatch.setattr(openai_api, "EARLY_S", 0.01)
    monkeypatch.setattr(openai_api, "HEARTBEAT_S", 0.01)
    with running(fake_service(tmp_path, held, timeout_s=0.2)) as port:
        with pytest.raises(openai.APIError) as late:
            list(client_of(port, "all").chat.completions.create(**CHAT, stream=True))
        assert late.value.code == "timeout"
        held.released.set()
