"""A second chaos run: PostgreSQL, and two workers that do the same work for a while.

With one broker both read every partition all the time. On Apache Kafka they are a group without
names, so that each death, each stand-still and each newcomer splits the partitions anew while
batches are in hand. The database must let only one of them fold a snapshot. What happens, in an
order that is drawn, is counted in `Disturbances`. No worker may end by itself.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import psycopg

from radarstream.connectors.kafka.topics import ensure_topics
from tests.chaos.arena import PATIENCE_S, Arena, Producer, story
from tests.chaos.grounds import Ground, tansu_on_postgresql
from tests.chaos.run import compare, finish
from tests.chaos.trials import Outcome, Say, times
from tests.clocks import until
from tests.end_to_end.running_job import Job

WORKERS = 2


@dataclass(frozen=True)
class Disturbances:
    """How often each thing happens while `snapshots` of `queries` are answered."""

    snapshots: int = 1_000
    queries: int = 25
    kills: int = 20
    frozen_workers: int = 5
    frozen_brokers: int = 5
    database_kills: int = 8
    broker_kills: int = 0
    newcomers: int = 0
    longest_freeze_s: float = 8.0
    seed: int = 0


SHORT = Disturbances(
    snapshots=120,
    queries=6,
    kills=2,
    frozen_workers=1,
    frozen_brokers=1,
    database_kills=2,
    longest_freeze_s=2.0,
)
# Half of those who stand still are taken for dead: the group waits for six seconds.
ON_KAFKA = replace(
    Disturbances(), database_kills=5, broker_kills=5, newcomers=5, longest_freeze_s=12.0
)
SHORT_ON_KAFKA = replace(SHORT, database_kills=1, broker_kills=1, newcomers=1, kills=1)


class Team:
    """Workers that are started again whenever they are gone."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.jobs = [self._start() for _ in range(WORKERS)]
        self.ended_by_themselves: list[int] = []

    def kill(self, number: int) -> None:
        """SIGKILL, and start another in its place."""
        job = self.jobs[number]
        if job.process.poll() is None:
            job.process.kill()
            job.process.wait()
        else:
            self.ended_by_themselves.append(job.process.returncode)
        self.jobs[number] = self._start()

    def visit(self) -> None:
        """Let one more join, and end it when it has work."""
        job = self._start()
        self.arena.until_healthy(job, time.monotonic())
        if (code := job.terminate()) != 0:
            self.ended_by_themselves.append(code)

    def until_answered(self, count: int) -> None:
        """Wait until so many snapshots are answered; start again who ended by itself."""

        def answered() -> bool:
            self.replace_ended()
            return steps_in(self.arena.database) >= count

        until(answered, PATIENCE_S)

    def replace_ended(self) -> None:
        """Note who ended by itself, and start others."""
        for number, job in enumerate(self.jobs):
            if job.process.poll() is not None:
                self.kill(number)

    def end(self) -> None:
        """Kill all."""
        self.replace_ended()
        for job in self.jobs:
            job.process.kill()
            job.process.wait()

    def _start(self) -> Job:
        return self.arena.start()


def steps_in(database: str) -> int:
    """How many snapshots have been folded into memory; 0 while the database does not answer."""
    try:
        with psycopg.connect(database, connect_timeout=2) as connection:
            row = connection.execute("SELECT coalesce(sum(step), 0) FROM memory").fetchone()
    except (psycopg.OperationalError, psycopg.errors.UndefinedTable):
        return 0
    return int(row[0]) if row else 0


def run_two_workers(
    size: Disturbances,
    directory: Path,
    say: Say,
    on: Callable[[Path], AbstractContextManager[Ground]] = tansu_on_postgresql,
) -> Outcome:
    """Disturb two workers on one topic and database, and compare with an undisturbed run."""
    began = time.monotonic()
    with on(directory) as ground:
        broker = ground.broker
        options = broker.options(topic_prefix="chaos.", group="chaos")
        database = ground.new_database(directory)
        arena = Arena(broker, options, directory, database, ground.variables)
        snapshots = story(size.snapshots, size.queries)
        producer = Producer(options, list(snapshots))
        ensure_topics(options)
        say(f"starting {WORKERS} workers")
        team = Team(arena)
        try:
            healed = disturb(size, team, ground, producer, say)
        finally:
            team.end()
        finish(arena, producer, say)
        found = compare(arena, snapshots, ground.new_database(directory / "calm"), say)
    figures = {
        "findings": found.as_rows(),
        "ended_by_themselves": team.ended_by_themselves,
        **{f"answered again: {name}": times(seconds) for name, seconds in healed.items()},
        "seconds": time.monotonic() - began,
    }
    return Outcome(size, found.sound and not team.ended_by_themselves, figures)


def disturb(
    size: Disturbances, team: Team, ground: Ground, producer: Producer, say: Say
) -> dict[str, list[float]]:
    """Let everything happen in an order that is drawn; return how long each took to heal."""
    random = Random(size.seed)
    pause = partial(random.uniform, 0.5, size.longest_freeze_s)
    options, gate = team.arena.options, producer.gate

    def freeze_worker() -> None:
        with team.jobs[random.randrange(WORKERS)].held():
            time.sleep(pause())

    def kill_broker() -> None:
        ground.kill_broker(options, team.jobs, gate, random)
        time.sleep(pause())
        ground.mend_broker(options)

    happenings: dict[str, tuple[int, Callable[[], None]]] = {
        "a worker is killed": (size.kills, lambda: team.kill(random.randrange(WORKERS))),
        "a worker stands still": (size.frozen_workers, freeze_worker),
        "a third worker comes and goes": (size.newcomers, team.visit),
        "a broker stands still": (
            size.frozen_brokers,
            lambda: ground.freeze_broker(options, pause(), gate, random),
        ),
        "a broker is killed": (size.broker_kills, kill_broker),
        "PostgreSQL is killed": (size.database_kills, lambda: ground.kill_database(pause())),
    }
    order = [name for name, (times, _) in happenings.items() for _ in range(times)]
    random.shuffle(order)
    share = size.snapshots // (len(order) + 1)
    producer.publish(share)
    team.until_answered(share)
    healed: dict[str, list[float]] = {name: [] for name in order}
    for number, name in enumerate(order, start=1):
        say(f"disturbance {number} of {len(order)}: {name}")
        producer.publish(share)
        time.sleep(random.uniform(0.0, 0.5))  # strike in the middle of the work
        happenings[name][1]()
        began = time.monotonic()
        team.until_answered(share * (number + 1))
        healed[name].append(time.monotonic() - began)
    return healed
