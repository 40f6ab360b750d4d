"""What doctor says about the continuous job's surroundings."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.pipelines.cli.doctor_job import job_checks
from radarstream.pipelines.settings import Settings, load_settings
from tests.brokers import Broker, running_broker
from tests.end_to_end.running_job import PATIENCE_S, produce, running_job, snapshots
from tests.servers import free_port


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with running_broker("noida", tmp_path / "broker") as running:
        yield running


def settings(bootstrap: str, **more: Any) -> Settings:
    listen = f"127.0.0.1:{free_port()}"
    sections: dict[str, Any] = {"kafka": {"bootstrap": bootstrap}, "telemetry": {"listen": listen}}
    return load_settings(profile="scripted", **(sections | more))


def found(given: Settings) -> dict[str, tuple[bool, str]]:
    return {check.name: (check.ok, check.found) for check in job_checks(given)}


def test_missing_topics_are_named_until_they_are_created(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERPAPI_KEY", "canary-key")
    given = settings(broker.bootstrap)
    before = found(given)
    assert before["broker"] == (True, broker.bootstrap)
    assert not before["topics"][0] and "search.snapshots" in before["topics"][1]
    ensure_topics(broker.options())
    after = found(given)
    assert all(ok for ok, _ in after.values()), after
    assert "canary" not in str(after)


def test_offsets_without_the_memory_that_belongs_to_them_are_told_before_the_job_is(
    broker: Broker, tmp_path: Path
) -> None:
    options = broker.options()
    produce(options, snapshots(2))
    state = tmp_path / "state.db"
    given = settings(broker.bootstrap, database=f"sqlite:///{state}")
    assert "memory" not in found(given)
    with running_job(options, tmp_path, "--once") as job:
        job.process.wait(PATIENCE_S)
    assert state.exists() and "memory" not in found(given)
    for file in tmp_path.glob("state.db*"):
        file.unlink()
    (told,) = (check for check in job_checks(given) if check.name == "memory")
    assert not told.ok and "has committed offsets that the database does not know" in told.found
    assert told.remedy.endswith("radarstream run --start-over")
    assert not state.exists()
    with running_job(options, tmp_path, "--once") as refused:
        assert refused.process.wait(PATIENCE_S) == 2
    assert not state.exists()  # a refused start makes no file
    assert "memory" in found(given)


def test_what_is_absent_and_needed_fails_and_what_is_optional_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SERPAPI_KEY", raising=False)
    monkeypatch.delenv("WEBHOOK_SECRET", raising=False)
    nobody = f"127.0.0.1:{free_port()}"
    seen = found(settings(nobody))
    assert {name: ok for name, (ok, _) in seen.items()} == {
        "broker": False,
        "search key": True,
        "alerts": True,
        "telemetry": True,
    }
    with_webhook = {"webhook": {"url": "https://alerts.example.org/"}}
    assert found(settings(nobody, alerts=with_webhook))["alerts"][0] is False
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        seen = found(settings(nobody, telemetry={"listen": listen}))
    assert seen["telemetry"] == (False, f"{listen} cannot be bound: Address already in use")
