"""One chaos run: named crash points, kills at random, brokers and databases that die; the truth."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from threading import Event

from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.snapshot import SearchSnapshot
from tests.chaos.arena import PATIENCE_S, Arena, Producer, story
from tests.chaos.dying_worker import POINTS
from tests.chaos.findings import Findings, findings
from tests.chaos.grounds import Ground, noida_on_sqlite
from tests.chaos.trials import Outcome, Say, times
from tests.clocks import until
from tests.end_to_end.running_job import Job

HEALTHY_WITHIN_S = 10.0
FINISHED_WITHIN_S = 3_600.0  # a busy machine takes minutes


@dataclass(frozen=True)
class Size:
    """How much chaos. `snapshots` are spread over the phases; rates are snapshots a second."""

    snapshots: int = 2_000
    queries: int = 50
    kills_per_point: int = 20
    random_seconds: float = 60.0
    broker_restarts: int = 5
    database_restarts: int = 0
    per_death: int = 8
    per_restart: int = 30
    rate: float = 10.0
    seed: int = 0


SHORT = Size(snapshots=200, queries=8, kills_per_point=2, random_seconds=0.0, broker_restarts=1)
ON_KAFKA = replace(
    Size(), snapshots=1_500, kills_per_point=4, random_seconds=30.0, database_restarts=5
)
SHORT_ON_KAFKA = replace(
    SHORT, snapshots=240, kills_per_point=1, broker_restarts=2, database_restarts=1
)


def run_chaos(
    size: Size,
    directory: Path,
    say: Say,
    on: Callable[[Path], AbstractContextManager[Ground]] = noida_on_sqlite,
) -> Outcome:
    """Run all phases in a directory of their own and compare with an undisturbed run."""
    began = time.monotonic()
    with on(directory) as ground:
        options = ground.broker.options(topic_prefix="chaos.", group="chaos")
        database = ground.new_database(directory)
        # One worker at a time, each under the name of the one before.
        named = {**ground.variables, "RADARSTREAM_KAFKA__WORKER": "worker-1"}
        arena = Arena(ground.broker, options, directory, database, named, counts_calls=True)
        snapshots = story(size.snapshots, size.queries)
        producer = Producer(options, list(snapshots))
        ensure_topics(options)
        random = Random(size.seed)
        die_at_named_points(size, arena, producer, random, say)
        if size.random_seconds:
            die_at_random(size, arena, producer, random, say)
        if size.broker_restarts or size.database_restarts:
            kill_what_is_under_it(size, ground, arena, producer, random, say)
        finish(arena, producer, say)
        found = compare(arena, snapshots, ground.new_database(directory / "calm"), say)
    recovery = times(arena.healthy_s)
    figures = {
        "kills": arena.kills,
        "findings": found.as_rows(),
        f"recovery, limit {HEALTHY_WITHIN_S:g} s": recovery,
        "seconds": time.monotonic() - began,
    }
    return Outcome(size, found.sound and recovery["longest_s"] <= HEALTHY_WITHIN_S, figures)


def die_at_named_points(
    size: Size, arena: Arena, producer: Producer, random: Random, say: Say
) -> None:
    """Let a worker die at every point in turn; the order of the points is drawn."""
    points = [point for point in POINTS for _ in range(size.kills_per_point)]
    random.shuffle(points)
    for number, point in enumerate(points, start=1):
        say(f"death {number} of {len(points)}: {point}")
        once_a_batch = point in ("between publish and mark-sent", "before the offset commit")
        # The first answer to be written down must be, or a worker could die for ever on it.
        hit = 1 if once_a_batch else random.randint(2, 4)
        producer.publish(size.per_death)
        started = time.monotonic()
        job = arena.start(CHAOS_POINT=point, CHAOS_HIT=str(hit))
        arena.until_healthy(job, started)
        while not ended(job, 2.0):
            producer.publish(1)  # not enough work yet
        assert job.process.returncode == -9, job.log_file.read_text()[-3000:]
        arena.count(point)


def die_at_random(size: Size, arena: Arena, producer: Producer, random: Random, say: Say) -> None:
    """Kill about every three seconds, wherever the worker is, starting included."""
    say(f"killing at random for {size.random_seconds:.0f} s")
    with trickling(producer, size.rate, int(size.rate * size.random_seconds)):
        deadline = time.monotonic() + size.random_seconds
        while time.monotonic() < deadline:
            job = arena.start()
            time.sleep(random.uniform(0.0, 6.0))
            arena.kill(job)


def kill_what_is_under_it(
    size: Size, ground: Ground, arena: Arena, producer: Producer, random: Random, say: Say
) -> None:
    """Kill a broker or the database under load and start it again, in an order that is drawn."""
    order = ["broker"] * size.broker_restarts + ["PostgreSQL"] * size.database_restarts
    random.shuffle(order)
    with living(arena) as job:
        for number, name in enumerate(order, start=1):
            say(f"restart {number} of {len(order)}: {name}")
            partition: int | None = None
            with trickling(producer, size.rate, size.per_restart):
                time.sleep(random.uniform(0.5, 2.0))
                if name == "broker":
                    partition = ground.kill_broker(arena.options, [job], producer.gate, random)
                else:
                    ground.kill_database(random.uniform(0.2, 2.0), arena.note_database_death)
                started = time.monotonic()
            arena.count(name)
            before = commits(job, partition)
            with trickling(producer, size.rate, size.per_restart):
                until(lambda: commits(job, partition) > before, PATIENCE_S)  # noqa: B023 called at once
            arena.healthy_s.append(time.monotonic() - started)
            ground.mend_broker(arena.options)
        assert job.terminate() == 0, job.log_file.read_text()[-3000:]


@contextmanager
def trickling(producer: Producer, rate: float, at_most: int) -> Iterator[None]:
    """Publish so many in the background meanwhile."""
    stop = Event()
    thread = producer.trickle(rate, stop, at_most)
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def living(arena: Arena) -> Iterator[Job]:
    """A worker that is ready, ended afterwards whatever happens."""
    started = time.monotonic()
    job = arena.start(RADARSTREAM_TELEMETRY__LOG_LEVEL="debug")
    try:
        arena.until_healthy(job, started)
        yield job
    finally:
        job.process.kill()
        job.process.wait()


def commits(job: Job, partition: int | None = None) -> int:
    """How often offsets of a partition, or of any, were committed, as the log tells."""
    done = [line["partition"] for line in job.log() if line["event"] == "committed"]
    return len(done) if partition is None else done.count(partition)


def ended(job: Job, within_s: float) -> bool:
    """Whether the worker ends within this time."""
    deadline = time.monotonic() + within_s
    while job.process.poll() is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def finish(arena: Arena, producer: Producer, say: Say) -> None:
    """Publish what is left, and let a worker that nobody disturbs come to the end of the topic."""
    say("finishing what is left")
    producer.publish(len(producer.waiting))
    to_the_end(arena)


def to_the_end(arena: Arena) -> None:
    """Let a worker come to the end of the topic."""
    job = arena.start("--once")
    until(lambda: job.process.poll() is not None, FINISHED_WITHIN_S)
    assert job.process.returncode == 0, job.log_file.read_text()[-3000:]


def compare(arena: Arena, snapshots: Sequence[SearchSnapshot], database: str, say: Say) -> Findings:
    """Answer the same snapshots undisturbed, with topics and a database of their own; compare."""
    say("running the same snapshots undisturbed")
    options = arena.broker.options(
        topic_prefix="calm.", group="calm", partitions=arena.options.partitions
    )
    ensure_topics(options)
    Producer(options, list(snapshots)).publish(len(snapshots))
    (arena.directory / "calm").mkdir()
    calm = Arena(arena.broker, options, arena.directory / "calm", database)
    to_the_end(calm)
    calls_file = arena.calls_file if arena.counts_calls else None
    return findings(snapshots, (arena.options, arena.database), (options, database), calls_file)
