"""The job on a Flink cluster: what `make chaos ENGINE=flink` does at length, once."""

from pathlib import Path

import pytest

from tests.chaos.flink_run import Size, run_flink
from tests.chaos.trials import needs_flink

pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(needs_flink()), reason=needs_flink())]
SIZE = Size(
    parallelisms=(2, 1),
    task_manager_kills=1,
    job_manager_kills=0,
    worker_kills=1,
    pool_kills=0,
    longest_pause_s=1.0,
)


def test_a_job_outlives_its_processes_and_another_parallelism(tmp_path: Path) -> None:
    outcome = run_flink(SIZE, tmp_path, print)
    figures = outcome.figures
    assert figures["findings"]["sound"], outcome.record()
    assert (figures["resumed"], figures["workers_left"]) == (1, 0)
