"""A broker, a producer and a worker that dies: what the chaos runs are made of."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event, Lock, Thread
from urllib.error import URLError
from urllib.request import urlopen

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.snapshot import SearchSnapshot
from tests.brokers import Broker
from tests.builders import OBSERVED_AT, make_snapshot
from tests.clocks import until
from tests.end_to_end.running_job import Job
from tests.engines.kafka import KafkaCluster

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120.0
CITIES = ("Rome", "Rome", "Rome", "Oslo", "Oslo", "Bern")


def story(snapshots: int, queries: int) -> list[SearchSnapshot]:
    """Snapshots of all queries in turn; every document is unique, so that each costs a call."""
    return [
        make_snapshot(
            [f"Output: {CITIES[(n + n // queries) % 6]}. Page {n}/{d}" for d in range(3)]
            + [f"Output: Nowhere. Page {n}/3"],
            question=f"Which city won cup {n % queries}?",
            query_id=f"cup-{n % queries}",
            observed_at=OBSERVED_AT + timedelta(minutes=n),
        )
        for n in range(snapshots)
    ]


@dataclass
class Producer:
    """Publishes the story in its order; hold `gate` to keep it from writing."""

    options: KafkaOptions
    waiting: list[SearchSnapshot]
    gate: Lock = field(default_factory=Lock)

    def publish(self, count: int) -> None:
        """Publish the next `count` snapshots, trying until the broker takes them."""
        batch, self.waiting = self.waiting[:count], self.waiting[count:]
        records = [outbox_record(snapshot) for snapshot in batch]
        deadline = time.monotonic() + PATIENCE_S
        while records:
            try:
                with self.gate, KafkaSink(self.options) as sink:
                    sink.publish(records)
            except BrokerError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return

    def trickle(self, per_second: float, stop: Event, at_most: int) -> Thread:
        """Publish so many in the background, fewer if told to stop."""
        left = max(0, len(self.waiting) - at_most)

        def run() -> None:
            due = time.monotonic() + 0.5
            while not stop.wait(max(0.0, due - time.monotonic())) and len(self.waiting) > left:
                due = max(due + 0.5, time.monotonic())
                self.publish(max(1, int(per_second / 2)))

        thread = Thread(target=run)
        thread.start()
        return thread


@dataclass
class Arena:
    """Starts workers on one database (a URL) and topic prefix; remembers how long they took.

    `variables` are of the environment of each. `counts_calls`: one works at a time, so that calls
    of models that are repeated can be told.
    """

    broker: Broker | KafkaCluster
    options: KafkaOptions
    directory: Path
    database: str
    variables: Mapping[str, str] = field(default_factory=dict)
    counts_calls: bool = False
    healthy_s: list[float] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)

    @property
    def calls_file(self) -> Path:
        return self.directory / "calls.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        """Where broker and database are, as variables of a command."""
        return os.environ | {
            "PYTHONPATH": str(ROOT),
            "RADARSTREAM_KAFKA__BOOTSTRAP": self.options.bootstrap,
            "RADARSTREAM_KAFKA__TOPIC_PREFIX": self.options.topic_prefix,
            "RADARSTREAM_KAFKA__GROUP": self.options.group,
            "RADARSTREAM_KAFKA__PARTITIONS": str(self.options.partitions),
            "RADARSTREAM_KAFKA__REQUEST_TIMEOUT_S": "5",
            "RADARSTREAM_KAFKA__DELIVERY_TIMEOUT_S": "10",
            "RADARSTREAM_DATABASE": self.database,
        }

    def start(self, *arguments: str, **variables: str) -> Job:
        """Start a worker; CHAOS_… variables say where it dies."""
        told = {"RADARSTREAM_TELEMETRY__LISTEN": "127.0.0.1:0", "CHAOS_CALLS": str(self.calls_file)}
        environment = self.environment | told | self.variables | variables
        log_file = self.directory / f"log-{time.monotonic_ns()}"
        command = [sys.executable, "-m", "tests.chaos.dying_worker", "run", "--profile", "scripted"]
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [*command, *arguments], env=environment, cwd=ROOT, stdout=log, stderr=log
            )
        return Job(process, log_file)

    def until_healthy(self, job: Job, started: float) -> None:
        """Wait until the worker is ready, or has died at its place, hence was at work."""
        until(lambda: job.process.poll() is not None or is_ready(job), PATIENCE_S)
        self.healthy_s.append(time.monotonic() - started)

    def kill(self, job: Job) -> None:
        """SIGKILL from outside; a worker that ended by itself is a failure."""
        assert job.process.poll() is None, job.log_file.read_text()[-3000:]
        job.process.kill()
        job.process.wait()
        self.count("at random")

    def note_database_death(self) -> None:
        """Write down, among the calls, that the answer to the last one may not have been stored."""
        with self.calls_file.open("a", encoding="ascii") as calls:
            calls.write("[0, []]\n")

    def count(self, point: str) -> None:
        self.kills[point] = self.kills.get(point, 0) + 1


def is_ready(job: Job) -> bool:
    """Ask /readyz, once it listens."""
    ports = [line["port"] for line in job.log() if line["event"] == "telemetry listens"]
    if not ports:
        return False
    try:
        with urlopen(f"http://127.0.0.1:{ports[-1]}/readyz", timeout=2) as response:  # noqa: S310
            return bool(response.status == 200)
    except (URLError, OSError):
        return False
