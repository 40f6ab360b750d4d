"""The service when something is slow, down, flooded or killed; what a client takes from others."""

import asyncio
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Event, Thread

import httpx
import openai
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError

from radarstream.connectors.state_table.forgetting import forget_user
from radarstream.pipelines.documents import Given, Reading
from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.job.telemetry.metrics import ServingMetrics
from radarstream.pipelines.serving import openai_api, question_queue
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.people import User
from radarstream.pipelines.serving.question_queue import (
    AT_ONCE,
    Buckets,
    Places,
    QuestionQueue,
    Warming,
)
from radarstream.pipelines.serving.server import bound, run_service, serving
from radarstream.pipelines.settings.root import OrchestrationSettings
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Document
from tests.clocks import until
from tests.load import loaded, service_of_its_own
from tests.pipelines.serving.test_access import CALL
from tests.pipelines.serving.test_openai_client import client_of
from tests.servers import free_port
from tests.serving import (
    OWN,
    FakeAsker,
    HeldAsker,
    PeopleInMemory,
    a_question,
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


# --- what one client, known or not, can take: places, turns, and what others asked


BODY = json.dumps(ASKED).encode()
AGENT = json.dumps(
    CALL | {"params": {"name": "ask", "arguments": {"question": "Left alone?"}}}
).encode()


@contextmanager
def flood(port: int, sent: bytes, count: int, source: str = "127.0.0.1") -> Iterator[None]:
    """So many connections from one address, each with the same bytes and nothing more."""
    with ExitStack() as opened:
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", port), 10, (source, 0))
            opened.enter_context(one)
            one.sendall(sent)
        yield


def asks_from(port: int, source: str) -> int:
    """The status of a user's question that comes from an address."""
    with httpx.Client(transport=httpx.HTTPTransport(local_address=source), timeout=TIMEOUT) as own:
        return own.post(f"{BASE}:{port}/answers", json=ASKED, headers=bearer("all")).status_code


@pytest.mark.parametrize(
    ("sent", "count"),
    [(b"", 600), (b"POST /answers HT", 600), (head(100) + b"{", 300),
     (head(100).replace(b"Bearer all", b"Bearer nobody") + b"{", 300)],
    ids=["nothing", "half a line", "no body of a user", "no body"],
)  # fmt: skip
def test_nobody_shuts_the_service_without_a_whole_request(tmp_path, sent, count) -> None:
    health = free_port()
    with process(tmp_path, answers=True, health_listen=f"127.0.0.1:{health}") as (port, pid):
        assert asks_from(port, "127.0.0.1") == 200  # it is there before the flood
        with flood(port, sent, count):
            assert (asks_from(port, "127.0.0.2"), asks_from(port, "127.0.0.1")) == (200, 200)
            for place in (port, health):
                assert httpx.get(f"{BASE}:{place}/healthz", timeout=TIMEOUT).status_code == 200
        os.kill(pid, signal.SIGTERM)


def test_a_slow_client_outlives_the_flood_of_another_address(tmp_path: Path) -> None:
    with (
        running(fake_service(tmp_path, connections=16)) as port,
        socket.create_connection(("127.0.0.1", port), 10, ("127.0.0.2", 0)) as slow,
    ):
        slow.sendall(head(len(BODY)) + BODY[:5])
        with flood(port, b"POST /answers HT", 64):
            assert asks_from(port, "127.0.0.3") == 200
            slow.sendall(BODY[5:])
            assert slow.recv(65_536).startswith(b"HTTP/1.1 200")


def test_a_request_in_hand_outlives_a_flood(tmp_path: Path) -> None:
    held, got = HeldAsker(), list[int]()
    with running(fake_service(tmp_path, held, connections=16)) as port:
        asking = Thread(target=lambda: got.append(asks_from(port, "127.0.0.1")))
        asking.start()
        assert held.begun.wait(20)
        with flood(port, b"POST /answers HT", 64):
            assert httpx.get(f"{BASE}:{port}/healthz", timeout=TIMEOUT).status_code == 200
            held.released.set()
            asking.join(20)
    assert got == [200]


def test_health_tells_of_an_event_loop_that_hangs(tmp_path: Path) -> None:
    health, released = free_port(), Event()
    app = fake_service(tmp_path, health_listen=f"127.0.0.1:{health}")
    quick = app.state.context.settings.telemetry.model_copy(update={"silence_s": 1.5})
    app.state.context.settings = app.state.context.settings.model_copy(update={"telemetry": quick})

    async def hang() -> None:
        released.wait(20)

    app.add_api_route("/hang", hang)

    def alive() -> bool:
        return httpx.get(f"{url}/healthz", timeout=TIMEOUT).status_code == 200

    url = f"{BASE}:{health}"
    with running(app) as port:
        until(alive)  # a busy machine is silent for a while too
        assert httpx.get(f"{url}/readyz").json()["checks"]["running"]
        assert "radarstream_http_requests_in_hand" in httpx.get(f"{url}/metrics").text
        hanging = Thread(target=httpx.get, args=(f"{BASE}:{port}/hang",), kwargs={"timeout": 20})
        hanging.start()
        while alive():
            assert hanging.is_alive()
        released.set()
        hanging.join(20)
        while not alive():
            pass


def test_a_port_of_health_in_use_names_its_setting(tmp_path: Path) -> None:
    with bound("127.0.0.1:0") as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        app = fake_service(tmp_path, health_listen=place)
        with pytest.raises(ConfigurationError, match=f"serving.health_listen {place}: .*in use"):
            asyncio.run(serving(app, Stop(), bound("127.0.0.1:0")))


@given(st.integers(1, 40), st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=90))
def test_no_user_takes_all_places_where_there_are_four(most, moves) -> None:
    """Whoever holds none finds a place, unless others than one hold all; none is given twice."""
    places, held = Places(most, ServingMetrics()), dict[str, list[ExitStack]]()
    for user, comes in moves:
        mine = held.setdefault(user, [])
        total = sum(map(len, held.values()))
        if not comes:
            if mine:
                mine.pop().close()
            continue
        stack = ExitStack()
        try:
            stack.enter_context(places.taken(user))
        except ServiceError as refused:
            assert refused.status == 503
            assert mine or total == most
            assert most < 4 or total > most // 2
            continue
        mine.append(stack)
        assert total < most
        others = sum(map(len, held.values())) - len(mine)
        assert others or most < 4 or len(mine) < most


def test_users_are_served_in_turn_whoever_came_first(tmp_path: Path) -> None:
    """58 questions of one user wait when another asks six: each has every second turn."""
    held = HeldAsker()
    app = fake_service(tmp_path, held)

    async def asked(port: int) -> list[int]:
        limits = httpx.Limits(max_connections=100)
        async with httpx.AsyncClient(timeout=TIMEOUT, limits=limits) as client:

            async def ask(user: str, name: str) -> int:
                question = {"question": f"{name}?"}
                url = f"{BASE}:{port}/answers"
                return (await client.post(url, json=question, headers=bearer(user))).status_code

            waiting: list[asyncio.Task[int]] = []
            for user, name, count in (("all", "many", 58), ("asking", "few", 6)):
                waiting += [asyncio.create_task(ask(user, f"{name} {n}")) for n in range(count)]
                while app.state.context.metrics.in_hand._value.get() < len(waiting):
                    await asyncio.sleep(0)
            held.released.set()
            return await asyncio.gather(*waiting)

    with running(app) as port:
        assert asyncio.run(asked(port)) == [200] * 64
    order = [question.text.split()[0] for question in held.asked]
    assert max(place for place, name in enumerate(order) if name == "few") < AT_ONCE + 2 * 6


def test_documents_of_one_user_are_read_for_half_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def read(given: object, until: float) -> Reading:
        nonlocal now
        now = until
        return (Document(1, "Lima."),), ()

    async def asked(*users: str) -> list[int]:
        """Statuses of questions that come at once."""
        some = [replace(a_question(), user=user, to_read=(Given(b"x"),)) for user in users]
        replies = await asyncio.gather(
            *(queue.reply(None, one) for one in some), return_exceptions=True
        )
        return [one.status if isinstance(one, ServiceError) else 200 for one in replies]

    monkeypatch.setattr(question_queue, "monotonic", lambda: now)
    serving = service_settings(tmp_path, questions_per_minute=60, timeout_s=20).serving
    queue = QuestionQueue(FakeAsker(), read, serving, ServingMetrics(), Warming())
    queue._buckets = Buckets(60, lambda: now)
    assert asyncio.run(asked("ann", *["bob"] * 9)) == [200] * 7 + [429] * 3
    assert now == 70.0  # 10 seconds each
    now += 70.0  # a minute for the bucket, and what bob owes
    assert asyncio.run(asked("ann", *["bob"] * 9)) == [200] * 7 + [429] * 3


@pytest.mark.parametrize(("path", "body"), [("/answers", BODY), ("/mcp", AGENT)])
def test_nothing_is_computed_for_a_client_that_left(tmp_path: Path, path: str, body: bytes) -> None:
    """One question is in hand; the next waits for its turn, and its client goes away."""
    held = HeldAsker()
    with running(fake_service(tmp_path, held, timeout_s=600)) as port:
        url = f"{BASE}:{port}"
        first = Thread(target=asks_from, args=(port, "127.0.0.1"))
        first.start()
        assert held.begun.wait(20)
        with closing(socket.create_connection(("127.0.0.1", port))) as leaving:
            accepts = b"Accept: application/json\r\nContent-Type:"
            lines = head(len(body)).replace(b"/answers", path.encode())
            leaving.sendall(lines.replace(b"Content-Type:", accepts) + body)
            while in_hand(url) < 2:
                pass
        while in_hand(url) > 1:
            assert first.is_alive()
        held.released.set()
        first.join(20)
        assert asks_from(port, "127.0.0.1") == 200
    assert {question.text for question in held.asked} == {ASKED["question"]}


@pytest.mark.parametrize("judge", ["rules", "language_model"])
def test_the_cache_tells_nobody_what_others_asked_about_own_documents(tmp_path, judge) -> None:
    adaptive = {"policy": "adaptive", "sentinel": judge, "strategist": judge, "threshold": 0.05}
    orchestration = OrchestrationSettings.model_validate(adaptive)
    settings = service_settings(tmp_path).model_copy(update={"orchestration": orchestration})
    app = create_app(settings, people=PeopleInMemory())
    with TestClient(app, base_url=BASE) as client:

        def calls_for(user: str) -> dict[str, float]:
            """How often each model is called for a question of a user about the same documents."""
            before = calls(client)
            question = {"question": "What is the capital?", "documents": OWN}
            assert client.post("/answers", json=question, headers=bearer(user)).status_code == 200
            return {name: count - before[name] for name, count in calls(client).items()}

        first = calls_for("asking")
        assert first["generator"] >= len(OWN) and first["embedder"]
        assert calls_for("all") == first
        # Not all of it: the judges' prompts tell of the questions that a user asked before.
        again = calls_for("asking")
        assert again["embedder"] == 0 and again["generator"] < first["generator"]
        assert forget_user(app.state.context.engine, "asking")["cached_answers"]
        assert calls_for("all")["embedder"] == 0
        assert calls_for("asking")["embedder"] == first["embedder"]


def calls(client: TestClient) -> dict[str, float]:
    lines = client.get("/metrics", headers=bearer("all")).text
    found = re.findall(r'^radarstream_model_calls_total{model="(\w+)"} (\S+)$', lines, re.M)
    return {model: float(count) for model, count in found}


def test_two_hundred_users_at_once_are_answered(tmp_path: Path) -> None:
    with service_of_its_own(tmp_path) as (port, token):
        load = loaded(port, token, users=200, per_second=200.0, seconds=1.0)
    assert (load.errors, len(load.seconds)) == ([], 200)
