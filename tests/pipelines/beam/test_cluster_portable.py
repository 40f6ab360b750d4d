"""The graph of a cluster: folding and publishing in this process, and through a job service."""

import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from radarstream.connectors.files.jsonl_sink import JsonlSink
from radarstream.connectors.state_table.queries.memory import MemoryRow, load
from radarstream.connectors.state_table.queries.outbox import pending, publish_outbox
from radarstream.pipelines.beam.cluster.job import (
    DefendStream,
    build_pipeline,
    pipeline_options,
    submit,
    wait,
)
from radarstream.pipelines.beam.cluster.kafka_source import PartitionRange
from radarstream.pipelines.beam.graph import DefendSnapshots, MicroBatch
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import Submission
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import OutboxRecord, RawRecord
from tests.builders import GIVE_ALL, OBSERVED_AT, logged, make_snapshot, scripted_settings
from tests.engines.flink import WorkerPool
from tests.pipelines.beam.test_cluster_source import ScriptedReader
from tests.servers import LOOPBACK, Server, listening

TEAMS = ["Rome", "Oslo", "Bern", "Lima", "Kyiv", "Riga"]
MINUTE = timedelta(minutes=1)


def settings_for(directory: Path, records: int = 256) -> Settings:
    given = {"job": {"batch_records": records}, "batch": {"snapshots": 2}, "defense": GIVE_ALL}
    return scripted_settings(directory, **given)


def record(minute: int, offset: int, query_id: str = "cup", partition: int = 0) -> RawRecord:
    """The snapshot of a minute, at an offset of a partition."""
    team = TEAMS[minute % len(TEAMS)]
    won = f"{team} won the Riverside Cup, says page"
    texts = [f"{won} {n} of {n} on site {n}." for n in range(3)]
    texts += ["The Riverside Cup was won by Nobody."]
    time, question = OBSERVED_AT + minute * MINUTE, "Who won the Riverside Cup?"
    snapshot = make_snapshot(texts, question=question, query_id=query_id, observed_at=time)
    return logged(snapshot, offset, partition)


class Directory:
    """Opens a sink of files; picklable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, _: Settings) -> JsonlSink:
        self.path.mkdir(exist_ok=True)
        return JsonlSink(self.path)


class Unreachable:
    """A sink that is down."""

    def __init__(self, _: Settings) -> None:
        pass

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        raise BrokerError("connection refused")


def run(settings: Settings, records: Sequence[RawRecord], open_sink: Any) -> None:
    """Defend the records, which come in one bundle."""
    options = PipelineOptions([])
    with beam.Pipeline(runner=FnApiRunner(), options=options) as pipeline:
        stream = DefendStream(settings, partial(open_sink, settings), live=False)
        pipeline | beam.Create(records) | stream


def published(out: Path, name: str = "answers") -> list[dict[str, Any]]:
    """Events in the order of their publication."""
    return [json.loads(line) for line in (out / f"{name}.jsonl").read_bytes().splitlines()]


def rows(settings: Settings, query_ids: Sequence[str]) -> dict[str, MemoryRow]:
    return load(shared_engine(settings), query_ids)


def test_any_order_of_arrival_gives_what_a_bounded_run_gives(tmp_path: Path) -> None:
    """Every permutation of four snapshots, each as a query of its own, spread over partitions."""
    records = [
        record(minute, offset=10 * number + index, query_id=f"q{number}", partition=number % 3)
        for number, order in enumerate(itertools.permutations(range(4)))
        for index, minute in enumerate(order)
    ]
    broken = logged(b"{", 999, partition=1)
    bounded = settings_for(tmp_path / "bounded")
    with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions([])) as pipeline:
        pipeline | beam.Create([*records, broken]) | DefendSnapshots(bounded, "")
    with Directory(tmp_path / "bounded")(bounded) as sink:
        publish_outbox(shared_engine(bounded), sink)
    settings = settings_for(tmp_path)
    run(settings, [*records, broken], Directory(tmp_path / "out"))
    ids = sorted({f"q{number}" for number in range(24)})
    assert rows(settings, ids) == rows(bounded, ids)
    assert {row.step for row in rows(settings, ids).values()} == {4}
    for name in ("answers", "attribution", "deadletter"):
        ours = {event["id"]: event for event in published(tmp_path / "out", name)}
        assert ours == {event["id"]: event for event in published(tmp_path / "bounded", name)}
    assert len(published(tmp_path / "out", "deadletter")) == 1
    events = [event["data"] for event in published(tmp_path / "out")]
    for query_id in ids:
        steps = [(e["step"], e["answer"]) for e in events if e["query_id"] == query_id]
        assert steps == list(enumerate(TEAMS[:4]))
    assert pending(shared_engine(settings)) == []


def test_what_comes_in_a_later_bundle_is_late_if_its_query_went_on(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    run(settings, [record(0, 0), record(9, 1)], Directory(tmp_path / "out"))
    alone = record(2, 3, "alone")  # as late, but nothing newer of its query is known
    run(settings, [record(4, 2), alone], Directory(tmp_path / "then"))
    assert [e["id"] for e in published(tmp_path / "out")] == ["cup/0", "cup/1"]
    assert [e["id"] for e in published(tmp_path / "then")] == ["alone/0"]
    letters = [e["data"] for e in published(tmp_path / "then", "deadletter")]
    assert [(x["reason"], x["position"]) for x in letters] == [("late", 2)]
    steps = {query: row.step for query, row in rows(settings, ["cup", "alone"]).items()}
    assert steps == {"cup": 2, "alone": 1}


def test_a_bundle_with_more_than_a_batch_is_folded_in_parts(tmp_path: Path) -> None:
    """Each part goes on where the one before left its queries."""
    whole, parts = settings_for(tmp_path / "whole"), settings_for(tmp_path / "parts", records=3)
    records = [record(step, 10 * q + step, f"q{q}") for step in range(4) for q in range(5)]
    for settings in (whole, parts):
        directory = Path(str(settings.database).removeprefix("sqlite:///")).parent
        run(settings, records, Directory(directory / "out"))
    ids = [f"q{q}" for q in range(5)]
    assert rows(parts, ids) == rows(whole, ids)
    assert {row.step for row in rows(parts, ids).values()} == {4}


def test_records_read_again_change_nothing_and_publish_what_was_not_published(tmp_path) -> None:
    """A runner that goes back to an older checkpoint, after the fold and before the publication."""
    settings = settings_for(tmp_path)
    records = [record(minute, offset) for offset, minute in enumerate((0, 2, 1))]
    with pytest.raises(BrokerError):
        run(settings, records, Unreachable)
    before = rows(settings, ["cup"])
    assert before["cup"].step == 3
    assert [entry.record.event_id for entry in pending(shared_engine(settings))]
    run(settings, records, Directory(tmp_path / "out"))
    assert [e["id"] for e in published(tmp_path / "out")] == ["cup/0", "cup/1", "cup/2"]
    run(settings, records, Directory(tmp_path / "again"))
    assert (published(tmp_path / "again"), rows(settings, ["cup"])) == ([], before)


# --- through the portable job service: a process of its own, workers in ours


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


@pytest.fixture(scope="module")
def job_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = JobService(tmp_path_factory.mktemp("service"))
    server.start()
    yield f"localhost:{server.port_file.read_text()}"
    server.stop()


@pytest.fixture
def worker_pool(tmp_path: Path) -> Iterator[str]:
    pool = WorkerPool(tmp_path)
    pool.start()
    assert pool.process is not None
    assert listening(pool.process.pid) <= LOOPBACK  # whoever reaches it can run code
    yield pool.address
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


portable_settings = partial(
    scripted_settings, batch={"snapshots": 4, "queries": 4}, defense=GIVE_ALL
)


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
    cluster = portable_settings(tmp_path / "cluster")
    outside = Scripted(tmp_path / "cluster")
    submission = Submission(job_endpoint=job_service, environment=environment, worker_pool=pool)
    pipeline = build_pipeline(cluster, outside, pipeline_options(submission, streaming=False))
    LISTENING.clear()
    assert wait(submit(pipeline)) == "DONE"
    assert bool(LISTENING) is (environment == "LOOPBACK")
    assert LISTENING <= LOOPBACK  # whoever reaches the pool of this process can run code in it
    assert pending(shared_engine(cluster)) == []

    local = portable_settings(tmp_path / "local")
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
