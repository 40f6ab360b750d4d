"""Health of the job and the port that tells about it."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from typing import Any

import pytest
import structlog
from prometheus_client import CollectorRegistry

from radarstream.pipelines.job.telemetry import endpoint
from radarstream.pipelines.job.telemetry.endpoint import Health, serving
from radarstream.pipelines.job.telemetry.metrics import JobMetrics
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.metering import Meter
from radarstream.schemas.errors import ConfigurationError
from tests.clocks import FakeClock

CANARY = "purple-canary"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(seconds=1_000.0)


@pytest.fixture
def health(clock: FakeClock) -> Health:
    return Health(limit_s=60.0, busy_limit_s=600.0, now=clock.monotonic)


@pytest.fixture
def metrics() -> JobMetrics:
    return JobMetrics()


@pytest.fixture
def port(health: Health, metrics: JobMetrics) -> Iterator[int]:
    with serving("127.0.0.1:0", metrics.registry, health) as port:
        yield port


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str, bytes]:
    with closing(HTTPConnection("127.0.0.1", port, timeout=10.0)) as connection:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers.get("Content-Type", ""), response.read()


def ask_json(port: int, path: str) -> tuple[int, Any]:
    status, content_type, body = ask(port, path)
    assert content_type == "application/json"
    return status, json.loads(body)


def test_a_model_at_work_gets_more_time_but_not_for_ever(health: Health, clock: FakeClock) -> None:
    meter = Meter(observers=[health.busy])
    with meter.stage("relations"):
        clock.seconds += 599.0
        assert health.alive
        assert health.life()["busy"] == ["relations"]
        clock.seconds += 2.0
        assert not health.alive
    assert health.alive  # the end of a stage is a sign of life
    clock.seconds += 61.0
    assert not health.alive


def test_healthz_follows_the_loop(port: int, health: Health, clock: FakeClock) -> None:
    assert ask_json(port, "/healthz") == (200, {"alive": True, "silence_s": 0.0, "busy": []})
    clock.seconds += 60.0
    assert ask_json(port, "/healthz")[0] == 200
    clock.seconds += 1.0
    status, body = ask_json(port, "/healthz")
    assert (status, body["alive"], body["silence_s"]) == (503, False, 61.0)
    health.tick()
    assert ask_json(port, "/healthz")[0] == 200


def test_readyz_names_each_check(port: int, health: Health) -> None:
    health.passed("database")
    status, body = ask_json(port, "/readyz")
    checks = {"broker": False, "partitions": False, "database": True, "models": False}
    assert (status, body["checks"]) == (503, checks)
    for name in ("broker", "partitions", "models"):
        health.passed(name)
    assert ask_json(port, "/readyz")[0] == 200
    health.passed("broker", False)
    assert ask_json(port, "/readyz")[0] == 503


def test_other_methods_and_paths_are_refused_and_not_repeated(port: int) -> None:
    for method in ("POST", "HEAD", CANARY):
        status, _, body = ask(port, "/metrics", method)
        assert (status, body) in {(405, b"Method Not Allowed\n"), (405, b"")}
    status, _, body = ask(port, f"/{CANARY}")
    assert (status, body) == (404, b"Not Found\n")


def exchange(port: int, sent: bytes) -> bytes:
    received = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10.0) as connection,
        suppress(OSError),  # hung up on, before or while it is sent
    ):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while chunk := connection.recv(65_536):
            received += chunk
    return received


@pytest.mark.parametrize(
    "sent",
    [b"", b"\r\n\r\n", b"purple-canary\r\n\r\n", b"GET purple-canary HTTP/9.9\r\n\r\n",
     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03purple-canary\n\n",
     b"GET /metrics HTTP/1.1\r\n" + b"a: purple-canary\r\n" * 10_000,
     b"GET /" + b"purple-canary" * 10_000],
    ids=["nothing", "blank", "word", "version", "tls", "headers", "path"],
)  # fmt: skip
def test_odd_requests_do_no_harm(sent: bytes, port: int, capfd: pytest.CaptureFixture[str]) -> None:
    answer = exchange(port, sent)
    assert CANARY.encode() not in answer and b"200" not in answer.partition(b"\r\n")[0]
    assert (ask(port, "/healthz")[0], "".join(capfd.readouterr())) == (200, "")


def test_silent_clients_hold_nobody_up(port: int, monkeypatch) -> None:
    monkeypatch.setattr(endpoint.Request, "timeout", 600.0)  # longer than the answer may take
    with ExitStack() as crowd:
        for _ in range(50):
            silent = socket.create_connection(("127.0.0.1", port), timeout=10.0)
            crowd.enter_context(silent).sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        assert ask(port, "/healthz")[0] == 200


def test_the_port_is_free_again_afterwards(health: Health) -> None:
    with serving("127.0.0.1:0", CollectorRegistry(), health) as port:
        assert ask(port, "/readyz")[0] == 503
    with serving(f"127.0.0.1:{port}", CollectorRegistry(), health) as again:
        assert (again, ask(port, "/readyz")[0]) == (port, 503)
    with pytest.raises(ConnectionRefusedError):
        ask(port, "/readyz")


def test_a_busy_port_is_a_configuration_error(port: int, health: Health) -> None:
    with (
        pytest.raises(ConfigurationError, match=f"telemetry.listen 127.0.0.1:{port}: .*in use"),
        serving(f"127.0.0.1:{port}", CollectorRegistry(), health),
    ):
        pass


def test_a_collector_that_fails_costs_one_scrape(port: int, metrics: JobMetrics) -> None:
    class Faulty:
        def collect(self) -> Iterator[Any]:
            raise RuntimeError(CANARY)

    faulty: Any = Faulty()
    metrics.registry._collector_to_names[faulty] = []  # register() would collect at once
    with structlog.testing.capture_logs() as logged:
        assert ask(port, "/metrics")[0] == 500
        metrics.registry.unregister(faulty)
        assert ask(port, "/metrics")[0] == 200
    assert [entry["event"] for entry in logged] == ["telemetry request failed"]


@pytest.mark.parametrize(
    "listen", ["9464", ":9464", "host", "host:", "host:x", "host:65536", "::1:9464", "host:-1"]
)
def test_addresses_that_are_none_are_refused_at_start(listen: str) -> None:
    with pytest.raises(ConfigurationError, match="telemetry.listen"):
        load_settings(telemetry={"listen": listen})


def test_ipv6_is_served(health: Health) -> None:
    with (
        serving("[::1]:0", CollectorRegistry(), health) as port,
        socket.create_connection(("::1", port), timeout=10.0) as connection,
    ):
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert connection.recv(15) == b"HTTP/1.0 200 OK"
