"""The whole graph through Beam's portable job service: a process of its own, workers in ours."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from radarstream.connectors.files.jsonl_sink import JsonlSink
from radarstream.connectors.state_table.queries.memory import MemoryRow, load
from radarstream.connectors.state_table.queries.outbox import pending, publish_outbox
from radarstream.pipelines.beam.cluster.job import (
    build_pipeline,
    pipeline_options,
    submit,
    wait,
)
from radarstream.pipelines.beam.cluster.kafka_source import PartitionRange
from radarstream.pipelines.beam.graph import MicroBatch
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import Submission
from radarstream.schemas.records import RawRecord
from tests.builders import GIVE_ALL, logged, scripted_settings
from tests.pipelines.beam.test_cluster_order import record
from tests.pipelines.beam.test_cluster_source import ScriptedReader
from tests.servers import LOOPBACK, Server, free_port, listening, listens

PARTITIONS = 3
STEPS = 6
QUERIES = [f"q{n}" for n in range(7)]
LISTENING: set[str] = set()  # where this process took connections while it read


class JobService(Server):
    """Beam's own portable job service; it writes its port to a file."""

    name = "the job service"

    def command(self) -> list[str]:
        module = "apache_beam.runners.portability.local_job_service_main"
        places = ["--port_file", self.port_file, "--staging_dir", self.directory / "staging"]
        return [sys.executable, "-m", module, *map(str, places)]

    @property
    def port_file(self) -> Path:
        return self.directory / "port"

    def ready(self) -> bool:
        return self.port_file.exists() and bool(self.port_file.read_text())


class WorkerPool(Server):
    """The worker pool, as it stands beside a cluster: Python steps run in its processes."""

    name = "the worker pool"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.port = free_port()

    def command(self) -> list[str]:
        module = "radarstream.pipelines.beam.cluster.worker_pool"
        return [sys.executable, "-m", module, f"--service_port={self.port}"]

    def ready(self) -> bool:
        return listens(self.port)


@pytest.fixture(scope="module")
def job_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = JobService(tmp_path_factory.mktemp("service"))
    server.start()
    yield f"localhost:{server.port_file.read_text()}"
    server.stop()


@pytest.fixture
def worker_pool(tmp_path: Path) -> Iterator[str]:
    pool = WorkerPool(tmp_path / "pool")
    pool.start()
    assert pool.process is not None
    assert listening(pool.process.pid) <= LOOPBACK  # whoever reaches it can run code
    yield f"localhost:{pool.port}"
    pool.stop()


def log_of(partition: int) -> list[RawRecord]:
    """The records of a partition: queries interleaved, out of order, one undecodable."""
    given = enumerate(product((1, 0, 2, 4, 3, 5), QUERIES[partition::PARTITIONS]))
    records = [record(step, offset, query, partition) for offset, (step, query) in given]
    return [*records, logged(b'{"schema": "search.snapshot/1", ', len(records), partition)]


@dataclass(frozen=True)
class Scripted:
    """Stands in for `Outside`: partitions in memory, files as topics."""

    directory: Path
    until_end: bool = True

    def partitions(self) -> list[PartitionRange]:
        return [PartitionRange(p, 0, len(log_of(p))) for p in range(PARTITIONS)]

    def open_reader(self, partition: int) -> ScriptedReader:
        LISTENING.update(listening(os.getpid()))
        records = log_of(partition)
        return ScriptedReader(records, len(records), share=4, partition=partition)

    def open_sink(self) -> JsonlSink:
        return JsonlSink(self.directory)


settings_for = partial(scripted_settings, batch={"snapshots": 4, "queries": 4}, defense=GIVE_ALL)


def result(
    settings: Settings, directory: Path
) -> tuple[dict[str, MemoryRow], dict[str, set[bytes]]]:
    """Memory rows and published events of a run."""
    files = ("answers", "attribution", "deadletter")
    lines = {name: (directory / f"{name}.jsonl").read_bytes().splitlines() for name in files}
    assert all(len(set(events)) == len(events) for events in lines.values())
    rows = load(shared_engine(settings), QUERIES)
    return rows, {name: set(events) for name, events in lines.items()}


@pytest.mark.parametrize(
    "environment", ["LOOPBACK", pytest.param("EXTERNAL", marks=pytest.mark.long)]
)
def test_a_portable_run_equals_the_micro_batches(environment, job_service, request, tmp_path):
    pool = request.getfixturevalue("worker_pool") if environment == "EXTERNAL" else "localhost:1"
    cluster = settings_for(tmp_path / "cluster")
    outside = Scripted(tmp_path / "cluster")
    submission = Submission(job_endpoint=job_service, environment=environment, worker_pool=pool)
    pipeline = build_pipeline(cluster, outside, pipeline_options(submission, streaming=False))
    LISTENING.clear()
    assert wait(submit(pipeline)) == "DONE"
    assert bool(LISTENING) is (environment == "LOOPBACK")
    assert LISTENING <= LOOPBACK  # whoever reaches the pool of this process can run code in it
    assert pending(shared_engine(cluster)) == []

    local = settings_for(tmp_path / "local")
    MicroBatch(local)([record for p in range(PARTITIONS) for record in log_of(p)])
    with JsonlSink(tmp_path / "local") as sink:
        publish_outbox(shared_engine(local), sink)

    rows, events = result(cluster, tmp_path / "cluster")
    assert (rows, events) == result(local, tmp_path / "local")
    assert {row.step for row in rows.values()} == {STEPS}
    assert {name: len(found) for name, found in events.items()} == {
        "answers": STEPS * len(QUERIES),
        "attribution": STEPS * len(QUERIES),  # the answer turns at each step
        "deadletter": PARTITIONS,
    }
