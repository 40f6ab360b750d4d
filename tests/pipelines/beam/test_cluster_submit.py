"""`radarstream submit`: what becomes of its flags, and what it refuses before anything runs."""

import json
from typing import Any

import pytest

from tests import commands
from tests.commands import run

POSTGRES = "postgresql://radarstream@db/radarstream"
PORTABLE = ["--job-endpoint", "server:8099"]


@pytest.fixture(autouse=True)
def shared_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADARSTREAM_DATABASE", POSTGRES)


def printed(*flags: str) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(run("submit", *flags, "--print-options", "--json").stdout)
    return shown


def refused(*flags: str) -> str:
    code, said = commands.refused("submit", *flags)
    assert code == 2
    return " ".join(said.split())


def test_options_are_shown_with_a_warning_where_a_job_would_be_refused(monkeypatch) -> None:
    monkeypatch.setenv("RADARSTREAM_DATABASE", "sqlite:///state.sqlite")
    result = run("submit", *PORTABLE, "--print-options", "--json")
    assert "options" in json.loads(result.stdout)
    assert result.stderr.startswith("warning: workers on several machines cannot share an SQLite")


def test_an_endless_job_on_a_cluster() -> None:
    flags = [*PORTABLE, "--parallelism", "4", "--checkpoint-seconds", "10"]
    options = printed(*flags, "--savepoint", "file:///s/1")["options"]
    expected = {"job_endpoint": "server:8099", "parallelism": "4", "streaming": "true",
                "environment_type": "EXTERNAL", "environment_config": "localhost:50000",
                "checkpointing_interval": "10000", "savepoint_path": "file:///s/1",
                "finish_bundle_before_checkpointing": "true"}  # fmt: skip
    assert expected.items() <= options.items()


def test_a_bounded_job() -> None:
    options = printed(*PORTABLE, "--once")["options"]
    assert not {"streaming", "checkpointing_interval"} & options.keys()


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--job-endpoint", "no port"], "job-endpoint"),
        ([*PORTABLE, "--worker-pool", "no port"], "worker-pool"),
        ([*PORTABLE, "--job-name", "Not A Name"], "job-name"),
        (["--job-endpoint", "embed"], "--once"),
    ],
)
def test_what_could_only_fail_later_is_refused_at_once(flags: list[str], word: str) -> None:
    assert word in refused(*flags)


def test_workers_elsewhere_need_a_database_they_can_share(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("RADARSTREAM_DATABASE", f"sqlite:///{tmp_path / 'state.db'}")
    assert "SQLite" in refused(*PORTABLE)
    assert printed(*PORTABLE, "--environment", "LOOPBACK")


def test_no_secret_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    canary = "canary-7f3a"
    for name in ("KAFKA_PASSWORD", "PGPASSWORD", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, canary)
    assert canary not in json.dumps(printed(*PORTABLE))
    for url in (f"postgresql://r:{canary}@db/r", f"postgresql://r@db/r?password={canary}"):
        monkeypatch.setenv("RADARSTREAM_DATABASE", url)
        message = refused(*PORTABLE)
        assert "PGPASSWORD" in message and canary not in message
