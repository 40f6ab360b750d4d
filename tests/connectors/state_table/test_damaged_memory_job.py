"""The continuous job on PostgreSQL with one damaged memory row, until the row is repaired."""

from pathlib import Path

import psycopg
import pytest

from radarstream.schemas.codec import decode_answer, decode_dead_letter
from radarstream.schemas.errors import ReasonClass
from tests.brokers import Broker
from tests.commands import run
from tests.end_to_end.running_job import events, produce, running_job, snapshots
from tests.postgresql import POSTGRESQL

DAMAGE = r"UPDATE memory SET state = '\xff00' WHERE query_id = 'q1'"


@pytest.mark.parametrize("state_url", [POSTGRESQL], indirect=True)
def test_one_query_waits_for_its_repair_and_then_is_answered_in_order(
    state_url: str, own_broker: Broker, tmp_path: Path
) -> None:
    options, given = own_broker.options(), snapshots(12)  # q0, q1, q2 in turn
    config, kept = tmp_path / "job.toml", tmp_path / "kept.jsonl"
    config.write_text(
        f'profile = "scripted"\ndatabase = "{state_url}"\n'
        f'[kafka]\nbootstrap = "{options.bootstrap}"\n'
    )

    def drained() -> list[tuple[str, str]]:
        """Let a job answer what there is; return what is published of q1, in order."""
        with running_job(options, tmp_path, "--once", RADARSTREAM_DATABASE=state_url) as job:
            job.wait_for("stopped")
            assert job.process.wait(30) == 0
        answers = [decode_answer(data) for _, data in events(options, "answers.defended")]
        assert sum(answer.query_id != "q1" for answer in answers) == told
        return [(a.snapshot_id, a.step) for a in answers if a.query_id == "q1"]

    produce(options, given[:3])
    told = 2
    assert drained() == [(given[1].id, 0)]
    run("state", "export", "--out", str(kept), "--config", config)
    with psycopg.connect(state_url) as connection:
        connection.execute(DAMAGE)
    produce(options, given[3:])
    told = 8
    assert drained() == [(given[1].id, 0)]
    letters = [decode_dead_letter(data) for _, data in events(options, "snapshots.deadletter")]
    assert [x.reason for x in letters] == [ReasonClass.DAMAGED_STATE] * 3
    run("state", "import", str(kept), "--query", "q1", "--config", config)
    run("deadletter", "replay", "--yes", "--config", config)
    assert drained() == [(given[n].id, n // 3) for n in (1, 4, 7, 10)]
    assert len(events(options, "snapshots.deadletter")) == 3
