"""A lost database and a start without a server, as those see it who run the command."""

from pathlib import Path
from time import monotonic

from radarstream.connectors.kafka.options import KafkaOptions
from tests.end_to_end.running_job import PATIENCE_S, running_job
from tests.postgresql import PostgresqlServer


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
