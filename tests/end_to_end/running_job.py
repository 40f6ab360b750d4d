"""`radarstream run` as a process of its own against a real broker."""

import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.records import Envelope, OutboxRecord
from radarstream.schemas.snapshot import SearchSnapshot
from tests.builders import OBSERVED_AT, make_snapshot
from tests.programs import Program, started

PATIENCE_S = 60.0  # starting takes seconds, more on a busy machine


def snapshots(count: int, queries: int = 3) -> list[SearchSnapshot]:
    """Snapshots a minute apart, the queries in turn."""
    said = enumerate(("Rome", "Rome", "Oslo"), start=1)
    texts = [f"Read on page {page} of {page}. Output: {winner}" for page, winner in said]
    times = [OBSERVED_AT + timedelta(minutes=i) for i in range(count)]
    return [
        make_snapshot(texts, query_id=f"q{i % queries}", observed_at=time)
        for i, time in enumerate(times)
    ]


def produce(options: KafkaOptions, given: Sequence[SearchSnapshot]) -> None:
    """Publish snapshots as a collector does."""
    ensure_topics(options)
    with KafkaSink(options) as sink:
        sink.publish([outbox_record(snapshot) for snapshot in given])


def produce_raw(options: KafkaOptions, payloads: Sequence[bytes]) -> None:
    """Publish whatever it is to the topic of snapshots."""
    named = [(Envelope(str(n), "x", "test", str(n), "x"), data) for n, data in enumerate(payloads)]
    with KafkaSink(options) as sink:
        sink.publish([OutboxRecord("search.snapshots", *one) for one in named])


def events(options: KafkaOptions, topic: str) -> list[tuple[str, bytes]]:
    """The id and payload of every event of a topic, up to its present end."""
    with TopicReader(options, [topic]) as reader:
        records = [record for record in reader.to_the_end() if record.value is not None]
        return [(record.headers["ce_id"].decode(), record.value) for record in records]


class Job:
    """A running job; `log` is what it has written so far, line by line."""

    def __init__(self, process: Program, log_file: Path) -> None:
        self.process = process
        self.log_file = log_file

    def log(self) -> list[dict[str, Any]]:
        lines = self.log_file.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def wait_for(self, event: str, count: int = 1) -> dict[str, Any]:
        """Wait until it has logged an event so often; return the last of them."""
        deadline = time.monotonic() + PATIENCE_S
        while len(found := [line for line in self.log() if line["event"] == event]) < count:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"no {event!r} in: {self.log_file.read_text()[-3000:]}")
            time.sleep(0.05)
        return found[-1]

    def get(self, path: str) -> tuple[int, str]:
        """Ask its telemetry port."""
        connection = HTTPConnection("127.0.0.1", self.wait_for("telemetry listens")["port"], 10)
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let it stand still meanwhile."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)


@contextmanager
def running_job(
    options: KafkaOptions, directory: Path, *arguments: str, **variables: str
) -> Iterator[Job]:
    """Start the job in `directory`, its state in a SQLite file there; kill it at the end."""
    log_file = directory / f"log-{time.monotonic_ns()}"
    environment = {
        "RADARSTREAM_KAFKA__BOOTSTRAP": options.bootstrap,
        "RADARSTREAM_KAFKA__TOPIC_PREFIX": options.topic_prefix,
        "RADARSTREAM_KAFKA__PARTITIONS": str(options.partitions),
        "RADARSTREAM_DATABASE": f"sqlite:///{directory / 'state.db'}",
        "RADARSTREAM_TELEMETRY__LISTEN": "127.0.0.1:0",
        "RADARSTREAM_DEFENSE__WITHSTAND": "0",  # what one site says is given
    } | variables
    log_file.touch()
    command = ["run", "--profile", "scripted", *arguments]
    with started(*command, directory=directory, out=log_file, **environment) as process:
        yield Job(process, log_file)
