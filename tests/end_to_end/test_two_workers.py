"""Two workers repeat each other's work while all around them dies; `make chaos` does more."""

from pathlib import Path

import pytest

from tests.chaos.two_workers import SHORT, run_two_workers
from tests.postgresql import server_binaries


@pytest.mark.long
@pytest.mark.skipif(server_binaries() is None, reason="no PostgreSQL to kill: install pgserver")
def test_two_workers_on_every_partition_outlive_broker_and_database(tmp_path: Path) -> None:
    told: list[str] = []
    outcome = run_two_workers(SHORT, tmp_path, told.append)
    assert outcome.sound, (outcome.record(), told)
