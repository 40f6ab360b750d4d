"""The continuous job as a process: snapshots a second, idle CPU, memory over a soak.

Real broker, SQLite, outbox; the models are scripted, so that what is measured is everything else.
Every document is new, which no cache can help with. SOAK_MINUTES sets the length of the soak.
"""

import os
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import psutil
import pytest

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.schemas.snapshot import SearchSnapshot
from tests.benchmarks.figures import Figures
from tests.brokers import Broker, running_broker
from tests.builders import OBSERVED_AT, make_snapshot
from tests.end_to_end.running_job import Job, produce, running_job

pytestmark = pytest.mark.bench

K = 10
QUERIES = 200
SNAPSHOTS = 3_000
WARM_UP = 500  # batches have grown to their full size by then
TARGET_PER_SECOND = 100.0
IDLE_SECONDS = 20.0
TARGET_IDLE_PERCENT = 5.0
SOAK_MINUTES = float(os.environ.get("SOAK_MINUTES", "20"))
SOAK_PER_SECOND = 10
TARGET_MB_PER_10_MINUTES = 1.0
CITIES = ("Rome", "Rome", "Rome", "Oslo", "Bern")


def story(count: int, start: int = 0) -> list[SearchSnapshot]:
    """Snapshots of K documents of about 300 bytes, all different, the queries in turn."""
    return [
        make_snapshot(
            [
                f"Output: {CITIES[(n // QUERIES + d) % 5]}. " + f"Page {n}/{d} says so. " * 14
                for d in range(K)
            ],
            question=f"Which city won cup {n % QUERIES}?",
            query_id=f"cup-{n % QUERIES}",
            observed_at=OBSERVED_AT + timedelta(seconds=n),
        )
        for n in range(start, start + count)
    ]


def answers(job: Job) -> float:
    """Answers so far, of whatever outcome."""
    try:
        page = job.get("/metrics")[1]
    except TimeoutError:  # a busy machine; ask again
        return 0.0
    return sum(map(float, re.findall(r"^radarstream_answers_total\{.*\} (\S+)$", page, re.M)))


def until_answered(job: Job, count: int, within_s: float) -> float:
    """Wait for so many answers; return the moment at which they were there."""
    deadline = time.monotonic() + within_s
    while answers(job) < count:
        assert time.monotonic() < deadline, f"{answers(job)} of {count} answers"
        time.sleep(0.1)
    return time.monotonic()


@pytest.fixture
def options(own_broker: Broker) -> Iterator[KafkaOptions]:
    yield own_broker.options(partitions=8)


def test_throughput(options: KafkaOptions, tmp_path: Path, figures: Figures) -> None:
    given = story(SNAPSHOTS)
    for start in range(0, SNAPSHOTS, 500):
        produce(options, given[start : start + 500])
    with running_job(options, tmp_path) as job:
        started = until_answered(job, WARM_UP, 120.0)
        done_before = answers(job)
        ended = until_answered(job, SNAPSHOTS, 300.0)
        rate = (SNAPSHOTS - done_before) / (ended - started)
        figures.add(f"stream, k={K}", rate, "snapshots per second", (">", TARGET_PER_SECOND))
        assert job.terminate() == 0


def test_idle_cpu(tmp_path: Path, figures: Figures) -> None:
    """The other broker: noida answers an empty fetch at once instead of waiting for a record."""
    with running_broker("tansu", tmp_path / "tansu") as broker:
        options = broker.options(partitions=8)
        produce(options, story(100))
        with running_job(options, tmp_path) as job:
            until_answered(job, 100, 120.0)
            process = psutil.Process(job.process.pid)
            time.sleep(2.0)  # what was in hand is committed
            before = process.cpu_times()
            time.sleep(IDLE_SECONDS)
            after = process.cpu_times()
            busy = after.user + after.system - before.user - before.system
            percent = 100.0 * busy / IDLE_SECONDS
            figures.add("idle CPU of the job", percent, "% of a core", ("<", TARGET_IDLE_PERCENT))
            figures.add("idle memory of the job", process.memory_info().rss / 2**20, "MB")
            assert job.terminate() == 0


def test_memory_in_a_soak(options: KafkaOptions, tmp_path: Path, figures: Figures) -> None:
    """A steady stream; the slope leaves out the first quarter, in which caches fill."""
    produce(options, story(SOAK_PER_SECOND))
    with running_job(options, tmp_path, RADARSTREAM_CACHE__MAX_ENTRIES="2000") as job:
        until_answered(job, SOAK_PER_SECOND, 120.0)
        process, began, given = psutil.Process(job.process.pid), time.monotonic(), SOAK_PER_SECOND
        samples: list[tuple[float, float]] = []
        while (now := time.monotonic() - began) < SOAK_MINUTES * 60.0:
            due = int(now * SOAK_PER_SECOND) + SOAK_PER_SECOND - given
            if due > 0:
                produce(options, story(due, given))
                given += due
            samples.append((now, process.memory_info().rss / 2**20))
            time.sleep(2.0)
        until_answered(job, given, 60.0)
        assert job.terminate() == 0
    times, sizes = np.array(samples[len(samples) // 4 :]).T
    slope = float(np.polyfit(times, sizes, 1)[0]) * 600.0
    name = f"memory growth, soak of {SOAK_MINUTES:g} minutes"
    figures.add(name, slope, "MB per 10 minutes", ("<", TARGET_MB_PER_10_MINUTES))
    figures.add("memory at the end of the soak", float(sizes[-1]), "MB")
