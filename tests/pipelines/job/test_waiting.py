"""A start that waits for what is not there yet, and what it does not wait for; signals."""

import signal
import subprocess
import sys
from collections.abc import Callable
from threading import Event, Thread, active_count
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.job.collecting.collector import opened_collector
from radarstream.pipelines.job.incidents.worker import opened_worker
from radarstream.pipelines.job.stopping import AskedToStopError, Stop
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.job.waiting import Waiting, pause_s, repeating
from radarstream.pipelines.settings import JobSettings, load_settings
from radarstream.schemas.errors import BrokerError, ConfigurationError, DatabaseUnavailableError
from tests.clocks import until
from tests.servers import free_port

QUICK = JobSettings(first_pause_s=0.01, longest_pause_s=0.02)


@pytest.fixture
def stop() -> Stop:
    return Stop()


@pytest.fixture
def waiting(stop: Stop) -> Waiting:
    return Waiting(Health(60.0, 600.0), stop, QUICK)


def failing(errors: list[Exception], then: str = "there") -> Callable[[], str]:
    def work() -> str:
        if errors:
            raise errors.pop(0)
        return then

    return work


def test_what_is_away_is_tried_again_and_told(waiting: Waiting) -> None:
    away: list[Exception] = [DatabaseUnavailableError("cannot reach x"), BrokerError("no answer")]
    with capture_logs() as logged:
        assert waiting.until("database", failing(away)) == "there"
    told = [(line["event"], line["stage"], line["attempt"], line["detail"]) for line in logged]
    first, second = [("waiting", "database", 1), ("waiting", "database", 2)]
    assert told == [(*first, "cannot reach x"), (*second, "no answer")]
    checks = waiting.health.readiness()["checks"]
    assert [name for name, passed in checks.items() if passed] == ["database"]
    impatient = Waiting(waiting.health, Stop(), QUICK, patient=False)  # for who sits before it
    with pytest.raises(BrokerError):
        impatient.until("broker", failing([BrokerError("away")]))


def test_a_wish_to_stop_ends_a_pause_and_a_try_that_hangs(stop: Stop) -> None:
    slow, never = JobSettings(first_pause_s=600, longest_pause_s=600), Event()
    waiting = Waiting(Health(60.0, 600.0), stop, slow)

    def away() -> None:
        stop.event.set()
        raise BrokerError("away")

    with pytest.raises(AskedToStopError):
        waiting.until("broker", away)
    with pytest.raises(AskedToStopError):
        waiting.until("broker", never.wait)
    never.set()


def test_pauses_grow_to_a_limit() -> None:
    longest: Any = SimpleNamespace(uniform=lambda low, high: high)
    settings = JobSettings(first_pause_s=0.5, longest_pause_s=5.0)
    pauses = [pause_s(n, settings, longest) for n in (0, 1, 2, 3, 4, 10_000)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize("url", ["postgresql://nobody@/postgres", "postgresql://postgres@/nothing"])
def test_a_user_or_database_that_does_not_exist_ends_the_start(url, postgresql_socket, waiting):
    with pytest.raises(ConfigurationError, match="does not exist"):
        waiting.until("database", lambda: open_engine(f"{url}?host={postgresql_socket}"))


@pytest.mark.parametrize("what", ["watch", "attribute"])
def test_the_other_processes_wait_likewise(what, tmp_path, stop, monkeypatch) -> None:
    monkeypatch.setenv("SERPAPI_KEY", "k")
    settings = load_settings(
        profile="scripted",
        database=f"sqlite:///{tmp_path / 'state.db'}",
        kafka={"bootstrap": f"127.0.0.1:{free_port()}", "request_timeout_s": 1.0},
        telemetry={"listen": ""},
        job={"first_pause_s": 0.01, "longest_pause_s": 0.01},
    )
    collecting = what == "watch"
    opened: Any = (
        opened_collector(settings, stop)
        if collecting
        else opened_worker(settings, stop, kafka=True)
    )
    with capture_logs() as logged:
        asking = Thread(target=lambda: (until(lambda: len(logged) > 1), stop.event.set()))
        asking.start()
        with pytest.raises(AskedToStopError), opened:
            pass
        asking.join()
    assert [(line["event"], line["stage"]) for line in logged][:2] == [("waiting", "broker")] * 2


def test_work_is_repeated_whatever_it_raises_until_the_end() -> None:
    enough, ended, calls = Event(), Event(), []

    def work() -> None:
        calls.append(None)
        if len(calls) == 5:
            enough.set()
        if len(calls) < 4:
            raise KeyError("purple")

    threads = active_count()
    with capture_logs() as logged, repeating("lag", work, 0.001, at_end=ended.set):
        assert enough.wait(10.0)
    assert ended.is_set()
    assert active_count() == threads
    assert [(line["event"], line["stage"]) for line in logged] == [("background work fails", "lag")]


# --- signals of a process of its own: one asks, a second one insists, SIGHUP asks to reload


WAITING = """
import sys
from radarstream.pipelines.job.stopping import Stop
stop = Stop()
stop.install()
print("ready", flush=True)
while not stop():
    if stop.reload.wait(0.02):
        stop.reload.clear()
        print("reload", flush=True)
print("stopping", flush=True)
if "--stubborn" in sys.argv:
    sys.stdin.read()  # until the second signal
stop.clock.wait(3600.0)  # ends at once: somebody asked
"""


def process_that_waits(*arguments: str) -> Any:
    """A process that has said that it is ready."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process: Any = subprocess.Popen([sys.executable, "-c", WAITING, *arguments], **pipes)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_asks_and_ends_pauses(number: signal.Signals) -> None:
    with process_that_waits() as process:
        for sent, said in (*[(signal.SIGHUP, "reload\n")] * 3, (number, "stopping\n")):
            process.send_signal(sent)
            assert process.stdout.readline() == said
        assert process.wait(30) == 0


def test_a_second_signal_ends_the_process_at_once() -> None:
    with process_that_waits("--stubborn") as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM
