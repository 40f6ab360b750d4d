"""A lost database and a start without a server, as those see it who run the command."""

from pathlib import Path
from time import monotonic

from radarstream.connectors.kafka.options import KafkaOptions
from tests.brokers import Broker
from tests.end_to_end.running_job import PATIENCE_S, Job, events, produce, running_job, snapshots
from tests.postgresql import PostgresqlServer


def drained(options: KafkaOptions, directory: Path, *arguments: str) -> Job:
    """A job that has come to its end."""
    with running_job(options, directory, "--once", *arguments) as job:
        job.process.wait(PATIENCE_S)
    return job


def test_a_lost_database_is_refused_until_told_to_start_over(
    own_broker: Broker, tmp_path: Path
) -> None:
    options = own_broker.options()
    produce(options, snapshots(6))
    assert drained(options, tmp_path).process.returncode == 0
    produce(options, snapshots(9)[6:])
    for file in tmp_path.glob("state.db*"):
        file.unlink()
    refused = drained(options, tmp_path)
    assert refused.process.returncode == 2
    said = refused.log_file.read_text()
    assert (
        "state.db is empty or another one: consumer group radarstream has committed offset" in said
    )
    assert len(events(options, "answers.defended")) == 6
    assert drained(options, tmp_path, "--start-over").process.returncode == 0
    assert len(events(options, "answers.defended")) == 9


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
