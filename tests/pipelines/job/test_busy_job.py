"""What operations are told while a batch runs, with a real broker and the real wiring."""

from collections.abc import Sequence
from pathlib import Path
from threading import Semaphore
from typing import Any

import yaml

from radarstream.pipelines.job.answering import running
from radarstream.schemas.records import RawRecord
from tests.clocks import until
from tests.end_to_end.running_job import produce, snapshots
from tests.pipelines.job.job_rig import running_job, settings_for

RULES = Path(__file__).parents[3] / "infra" / "prometheus" / "alerts.yml"


class Batches:
    """Batches that hang until they are let go, and lead to nothing."""

    def __init__(self) -> None:
        self.begun, self.may_end = Semaphore(0), Semaphore(0)
        self.sizes: list[int] = []

    def __call__(self, records: Sequence[RawRecord]) -> list[Any]:
        self.sizes.append(len(records))
        self.begun.release()
        assert self.may_end.acquire(timeout=60.0)
        return []


def test_a_batch_that_hangs_and_an_idle_job_are_told_truthfully(own_broker, tmp_path, monkeypatch):
    """An idle job is up to date, else the alert would fire for the first batch after a night."""
    options = own_broker.options(partitions=2)
    produce(options, snapshots(20))
    batches = Batches()
    monkeypatch.setattr(running, "MicroBatch", lambda _: batches)
    monkeypatch.setattr(running, "REFRESH_S", 0.05)
    monkeypatch.setattr("radarstream.pipelines.job.answering.driver.IDLE_POLL_S", 0.05)
    with running_job(settings_for(options, tmp_path / "state.db")) as job:
        try:
            assert batches.begun.acquire(timeout=60.0)
            # Nothing was published yet, but the database and the broker answer.
            assert job.get("/readyz")[0] == 200
            until(lambda: job.lag == 20)
            batches.may_end.release()
            assert batches.begun.acquire(timeout=60.0)
            answered = batches.sizes[0]
            until(lambda: job.lag == 20 - answered)
            committed_at = job.committed_at
            produce(options, snapshots(3))  # the lag grows while the batch hangs
            until(lambda: job.lag == 23 - answered)
            assert job.committed_at == committed_at
            rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
            (rule,) = (rule for rule in rules if rule["alert"] == "RadarstreamNoProgress")
            assert "time() - radarstream_last_commit_timestamp_seconds > 900" in rule["expr"]
            assert "sum by (instance) (radarstream_consumer_lag_records) > 0" in rule["expr"]
            batches.may_end.release(100)
            until(lambda: job.lag == 0)
            commits, before = job.sum("radarstream_commits_total"), job.committed_at
            until(lambda: job.committed_at > before)
            assert job.sum("radarstream_commits_total") == commits
        finally:
            batches.may_end.release(100)
