"""The continuous job as its users start and stop it."""

from pathlib import Path
from time import monotonic

from typer.testing import CliRunner

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.pipelines.cli.app import app
from radarstream.schemas.codec import decode_dead_letter, encode
from radarstream.schemas.errors import ReasonClass
from tests.brokers import Broker
from tests.end_to_end.running_job import (
    PATIENCE_S,
    events,
    produce,
    produce_raw,
    running_job,
    snapshots,
)
from tests.postgresql import PostgresqlServer

ANSWERS, DEAD = "answers.defended", "snapshots.deadletter"
SETTINGS = Path(__file__).parents[2] / "infra" / "settings"


def test_the_runbook_works_with_the_shipped_settings(own_broker, tmp_path, monkeypatch) -> None:
    """Broker, password, database and models are this test's; everything else is as shipped."""
    options = own_broker.options(partitions=2)
    kafka = {"SECURITY": "PLAINTEXT", "REPLICATION": "1", "PARTITIONS": "2"}
    kafka |= {"BOOTSTRAP": options.bootstrap}
    ours = {f"RADARSTREAM_KAFKA__{name}": value for name, value in kafka.items()}
    ours["RADARSTREAM_DATABASE"] = f"sqlite:///{tmp_path / 'state.db'}"
    ours["RADARSTREAM_PROFILE"] = "scripted"
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    prod = ["--config", str(SETTINGS / "production.toml")]

    def succeeds(*command: str) -> str:
        result = CliRunner().invoke(app, [*command, *prod])
        assert result.exit_code == 0, (command, result.output, result.exception)
        return result.output

    succeeds("topics", "create")
    produce(options, snapshots(20, queries=10))
    shares = [(*prod, "--partitions", share, "--once") for share in ("0", "1")]
    with (  # the file says membership = "group": the flag decides
        running_job(options, tmp_path, *shares[0], **ours) as first,
        running_job(options, tmp_path, *shares[1], **ours) as second,
    ):
        for number, job in enumerate((first, second)):
            job.wait_for("stopped")
            assert job.wait_for("partitions_assigned")["partitions"] == [number]
            assert job.wait_for("answered")
    assert sorted(n for n, _ in events(options, ANSWERS)) == sorted(
        f"q{query}/{step}" for query in range(10) for step in (0, 1)
    )
    produce(options, snapshots(30, queries=10)[20:])
    with running_job(options, tmp_path, *prod, "--once", **ours) as job:
        assert job.wait_for("partitions_assigned")["partitions"] == [0, 1]
        job.wait_for("stopped")
    assert len(events(options, ANSWERS)) == 30
    assert len(succeeds("tail", "--once", "--json").splitlines()) == 30
    for command in ("topics describe", "tail --once --changed", "deadletter list", "state show"):
        succeeds(*command.split())


def test_a_stream_of_dead_letters_ends_the_job(own_broker: Broker, tmp_path: Path) -> None:
    options = own_broker.options()
    produce(options, [])
    produce_raw(options, [b"{"] * 30)
    with running_job(options, tmp_path, RADARSTREAM_JOB__DEAD_SHARE_AFTER="20") as job:
        assert job.process.wait(60) == 3
    assert "100% of the last 20 inputs became dead letters" in job.log_file.read_text()
    assert len(events(options, DEAD)) >= 20


def test_a_history_from_files_through_the_topic(own_broker: Broker, tmp_path: Path) -> None:
    options = own_broker.options()
    lines = [encode(snapshot) for snapshot in reversed(snapshots(4, queries=2))]
    file = tmp_path / "history.jsonl"
    file.write_bytes(b"\n".join([*lines, b'{"broken":', b""]))
    variables = {"RADARSTREAM_KAFKA__BOOTSTRAP": options.bootstrap}
    command = CliRunner().invoke(app, ["ingest", str(file)], env=variables)
    said = "5 records published to search.snapshots (1 cannot be decoded: it becomes a dead letter)"
    assert said in command.output
    with running_job(options, tmp_path, "--once") as job:
        job.wait_for("stopped")
    assert sorted(name for name, _ in events(options, ANSWERS)) == ["q0/0", "q0/1", "q1/0", "q1/1"]
    ((_, letter),) = events(options, DEAD)
    assert decode_dead_letter(letter).reason is ReasonClass.MALFORMED_JSON


def test_a_start_waits_for_postgresql_and_broker_until_it_is_asked_to_stop(
    postgresql_server: PostgresqlServer, tmp_path: Path
) -> None:
    variables = {
        "RADARSTREAM_DATABASE": f"postgresql://postgres@/postgres?host={postgresql_server.socket}",
        "RADARSTREAM_JOB__FIRST_PAUSE_S": "0.05",
        "RADARSTREAM_JOB__LONGEST_PAUSE_S": "0.2",
    }
    postgresql_server.stop()
    with running_job(KafkaOptions(bootstrap="127.0.0.1:1"), tmp_path, **variables) as job:
        line = job.wait_for("waiting", 2)
        assert (line["stage"], line["failure"]) == ("database", "DatabaseUnavailableError")
        assert job.get("/healthz")[0] == 200
        status, body = job.get("/readyz")
        assert (status, '"database": false' in body) == (503, True)
        assert 'radarstream_check_passed{check="database"} 0.0' in job.get("/metrics")[1]
        postgresql_server.start()
        deadline = monotonic() + PATIENCE_S
        while '"waiting for broker"' not in job.get("/healthz")[1]:
            assert monotonic() < deadline
        status, body = job.get("/readyz")
        assert (status, '"database": true' in body, '"broker": false' in body) == (503, True, True)
        assert job.terminate() == 0  # in the midst of a try that lasts for ten seconds
        assert job.log()[-1]["event"] == "stopped"
