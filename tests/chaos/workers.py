"""One process and 1, 2, 4 and 8 workers of a group on the same story: what is left, and how fast.

Every topology runs on the same three nodes of Apache Kafka with topics and a database of its own:
first a backlog, which says how many snapshots a second it answers, then a steady trickle, which
says how long a snapshot waits for its answer. All must end in what the one process ends in.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from radarstream.connectors.kafka.offsets import OffsetReader
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.schemas.codec import decode_answer, outbox_record
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.snapshot import SearchSnapshot
from tests.benchmarks.bench_stream import story
from tests.chaos.arena import Arena, percentile, until
from tests.chaos.findings import TOPICS, Findings, findings, patient
from tests.chaos.grounds import kafka_on_postgresql
from tests.chaos.trials import Say
from tests.end_to_end.running_job import Job

PARTITIONS = 8
ONE_PROCESS = "one process, SQLite"
PLAIN = {  # as the product is set, without a record of calls; the pages are all of one site
    "CHAOS_CALLS": "",
    "RADARSTREAM_DEFENSE__MIN_SUPPORT": "0",
}
MIDDLE = (0.2, 0.9)  # of the backlog: batches have grown, and no worker has run out of work


@dataclass(frozen=True)
class Size:
    """So many snapshots wait at first, so many follow at a rate a second."""

    backlog: int = 6_000
    steady: int = 200
    rate: float = 5.0
    workers: tuple[int, ...] = (1, 2, 4, 8)
    patience_s: float = 600.0
    seed: int = 0


SHORT = Size(backlog=300, steady=50)


@dataclass(frozen=True)
class Speed:
    """Of the backlog: snapshots a second, milliseconds of a core per snapshot by program, and how
    many cores these and all programs of the machine kept busy. Of the trickle: latencies, in ms.
    """

    per_second: float
    core_ms: Mapping[str, float]
    cores: float
    machine_cores: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Outcome:
    """What was measured and found, by topology. Ratios are to the one process."""

    size: Size
    speeds: Mapping[str, Speed]
    findings: Mapping[str, Findings]
    exit_codes: Mapping[str, list[int]]
    seconds: float

    @property
    def sound(self) -> bool:
        quiet = not any(code for codes in self.exit_codes.values() for code in codes)
        return quiet and all(found.sound for found in self.findings.values())

    def ratio(self, name: str) -> float:
        return self.speeds[name].per_second / self.speeds[ONE_PROCESS].per_second

    def rows(self) -> dict[str, str]:
        rows = {}
        for name, speed in self.speeds.items():
            found, each = self.findings[name], speed.core_ms.items()
            rows |= {
                name: f"{speed.per_second:.3g} a second ({self.ratio(name):.2f} times)",
                f"{name}: latency": f"p50 {speed.p50_ms:.0f} ms, p99 {speed.p99_ms:.0f} ms",
                f"{name}: core ms a snapshot": ", ".join(f"{n} {ms:.1f}" for n, ms in each),
                f"{name}: cores busy": f"{speed.cores:.2f}, all {speed.machine_cores:.2f}",
                f"{name}: lost, two payloads, out of order, memory equal": (
                    f"{found.lost}, {found.keys_with_different_payloads}, "
                    f"{found.queries_out_of_order}, {found.memory_equals_undisturbed}"
                ),
            }
        return {**rows, "seconds": f"{self.seconds:.0f}"}

    def record(self) -> dict[str, Any]:
        return {
            "settings": asdict(self.size),
            "sound": self.sound,
            "topologies": {
                name: {
                    **asdict(speed),
                    "ratio": self.ratio(name),
                    "findings": self.findings[name].as_rows(),
                    "exit_codes": self.exit_codes[name],
                }
                for name, speed in self.speeds.items()
            },
            "seconds": self.seconds,
        }


def run_workers(size: Size, directory: Path, say: Say) -> Outcome:
    """Measure one process and groups of workers one after the other, and compare what is left."""
    began = time.monotonic()
    given = story(size.backlog + size.steady)
    speeds, codes, left = {}, {}, {}
    with kafka_on_postgresql(directory) as ground:
        for number, count in enumerate((0, *size.workers)):
            name = f"{count} worker{'s' * (count > 1)}, PostgreSQL" if count else ONE_PROCESS
            say(f"measuring {name}")
            place = directory / f"topology-{number}"
            place.mkdir()
            options = ground.broker.options(
                topic_prefix=f"t{number}.", group=f"t{number}", partitions=PARTITIONS
            )
            ensure_topics(options)
            database = ground.new_database(place) if count else sqlite_url(place / "state.db")
            arena = Arena(ground.broker, options, place, database, PLAIN)
            with at_work(arena, count) as jobs:
                watched = {
                    "workers": [job.process.pid for job in jobs],
                    "Kafka": [n.process.pid for n in ground.broker.nodes.values() if n.process],
                    "PostgreSQL": [ground.server.process_id()],
                }
                speeds[name] = measured(size, options, given, watched)
                codes[name] = [job.terminate() for job in jobs]
            left[name] = (options, database)
        found = {
            name: findings(given, place, left[ONE_PROCESS], None) for name, place in left.items()
        }
    return Outcome(size, speeds, found, codes, time.monotonic() - began)


@contextmanager
def at_work(arena: Arena, count: int) -> Iterator[list[Job]]:
    """So many workers of a group, all of them ready; 0: one process that shares with nobody."""
    jobs: list[Job] = []
    try:
        for number in range(max(1, count)):
            group = {
                "RADARSTREAM_JOB__MEMBERSHIP": "group",
                "RADARSTREAM_KAFKA__WORKER": f"worker-{number}",
            }
            jobs.append(arena.start(**(group if count else {})))
        for job in jobs:
            arena.until_healthy(job, time.monotonic())
        yield jobs
    finally:
        for job in jobs:
            job.process.kill()
            job.process.wait()


def measured(
    size: Size,
    options: KafkaOptions,
    given: Sequence[SearchSnapshot],
    watched: Mapping[str, Sequence[int]],
) -> Speed:
    """Publish the backlog, then the trickle, and see when the answers are written.

    `watched` are the first processes of each program, whose time on a core is counted.
    """
    with KafkaSink(options) as sink, OffsetReader(options, topic=TOPICS[0]) as answers:

        def answered() -> int:
            try:
                return sum(offsets.end for offsets in answers.read().values())
            except BrokerError:  # a busy machine; ask again
                return 0

        machine, before, began = psutil.cpu_times(), core_seconds(watched), time.monotonic()
        for start in range(0, size.backlog, 100):
            sink.publish([outbox_record(s) for s in given[start : min(start + 100, size.backlog)]])
        until_slowly(lambda: answered() >= size.backlog, size.patience_s)
        elapsed, after = time.monotonic() - began, core_seconds(watched)
        busy = sum(psutil.cpu_times()[:3]) - sum(machine[:3])  # user, nice, system
        spent = {name: after[name] - before[name] for name in watched}
        sent: dict[str, float] = {}
        for number, snapshot in enumerate(given[size.backlog :]):
            due = began + elapsed + number / size.rate
            time.sleep(max(0.0, due - time.monotonic()))
            sent[snapshot.id] = time.time()  # noqa: TID251 the broker's records have it too
            sink.publish([outbox_record(snapshot)])
        until_slowly(lambda: answered() >= len(given), size.patience_s)
    written = written_at(options)
    moments = sorted(written[snapshot.id] for snapshot in given[: size.backlog])
    first, last = (int(share * (size.backlog - 1)) for share in MIDDLE)
    waits = [1000.0 * (written[name] - moment) for name, moment in sent.items()]
    return Speed(
        per_second=(last - first) / (moments[last] - moments[first]),
        core_ms={name: 1000.0 * seconds / size.backlog for name, seconds in spent.items()},
        cores=sum(spent.values()) / elapsed,
        machine_cores=busy / elapsed,
        p50_ms=percentile(waits, 0.5),
        p99_ms=percentile(waits, 0.99),
    )


def until_slowly(condition: Callable[[], bool], within_s: float) -> None:
    """Wait for a condition, and ask twice a second only: asking costs the brokers time."""

    def asked() -> bool:
        time.sleep(0.45)
        return condition()

    until(asked, within_s)


def written_at(options: KafkaOptions) -> dict[str, float]:
    """When the first answer to each snapshot was written, in seconds since 1970, by its id."""
    first: dict[str, float] = {}
    with TopicReader(patient(options), [TOPICS[0]]) as reader:
        for record in reader.to_the_end():
            if record.value is not None:
                name = decode_answer(record.value).snapshot_id
                first.setdefault(name, record.timestamp.timestamp())
    return first


def core_seconds(watched: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """The time on a core of each program so far, with the processes that it started."""
    return {name: sum(map(core_seconds_of, process_ids)) for name, process_ids in watched.items()}


def core_seconds_of(process_id: int) -> float:
    """Of one process, those that it has waited for, and its present children."""
    process = psutil.Process(process_id)
    present = 0.0
    for child in process.children(recursive=True):
        try:
            present += sum(child.cpu_times()[:2])
        except psutil.NoSuchProcess:  # it has ended, and is counted by who waits for it
            continue
    return sum(process.cpu_times()[:4]) + present
