"""A second chaos run on other ground: PostgreSQL, another broker, two workers on every partition.

The workers repeat each other's work, so the database must let only one of them fold a snapshot.
Meanwhile, in an order that is drawn, a worker is killed, a worker or the broker stands still, and
PostgreSQL is killed. No worker may end by itself.
"""

import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from radarstream.connectors.kafka.topics import ensure_topics
from tests.brokers import running_broker
from tests.chaos.arena import Arena, Producer, percentile, story, until
from tests.chaos.findings import Findings, findings
from tests.chaos.run import finish, undisturbed_run
from tests.end_to_end.running_job import Job
from tests.postgresql import PostgresqlServer, running_server

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


@dataclass(frozen=True)
class Outcome:
    """What a run found. `ended_by_themselves` has the exit code of each worker that was not killed.

    `answered_again_s` has one entry per disturbance: from its end until all that was published
    before it is answered.
    """

    size: Disturbances
    findings: Findings
    ended_by_themselves: list[int]
    answered_again_s: list[float]
    seconds: float

    @property
    def sound(self) -> bool:
        return self.findings.sound and not self.ended_by_themselves

    def rows(self) -> dict[str, str]:
        return {
            **self.findings.rows(),
            "workers that ended by themselves": str(len(self.ended_by_themselves)),
            "answered again: median s": f"{percentile(self.answered_again_s, 0.5):.3g}",
            "answered again: longest s": f"{max(self.answered_again_s, default=0.0):.3g}",
            "seconds": f"{self.seconds:.0f}",
        }

    def record(self) -> dict[str, Any]:
        return {
            "settings": asdict(self.size),
            "sound": self.sound,
            "findings": self.findings.as_rows(),
            "ended_by_themselves": self.ended_by_themselves,
            "answered_again": {
                "median_s": percentile(self.answered_again_s, 0.5),
                "longest_s": max(self.answered_again_s, default=0.0),
            },
            "seconds": self.seconds,
        }


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

    def until_answered(self, count: int) -> None:
        """Wait until so many snapshots are answered; start again who ended by itself."""

        def answered() -> bool:
            self.replace_ended()
            return steps_in(self.arena.database) >= count

        until(answered)

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


def run_two_workers(size: Disturbances, directory: Path, say: Callable[[str], None]) -> Outcome:
    """Disturb two workers on one topic and database, and compare with an undisturbed run."""
    began = time.monotonic()
    with (
        running_server() as server,
        running_broker("tansu", directory / "broker") as broker,
    ):
        options, calm = (broker.options(topic_prefix=f"{n}.", group=n) for n in ("chaos", "calm"))
        arena = Arena(broker, options, directory, server.new_database())
        snapshots = story(size.snapshots, size.queries)
        producer = Producer(options, list(snapshots))
        ensure_topics(options)
        say(f"starting {WORKERS} workers on the same partitions")
        team = Team(arena)
        try:
            answered_again = disturb(size, team, server, producer, say)
            say("finishing what is left")
            producer.publish(len(producer.waiting))
        finally:
            team.end()
        finish(arena)
        say("running the same snapshots undisturbed")
        (directory / "calm").mkdir()
        undisturbed = undisturbed_run(arena, calm, snapshots, server.new_database())
        found = findings(snapshots, (options, arena.database), (calm, undisturbed.database), None)
    ended = team.ended_by_themselves
    return Outcome(size, found, ended, answered_again, time.monotonic() - began)


def disturb(
    size: Disturbances,
    team: Team,
    server: PostgresqlServer,
    producer: Producer,
    say: Callable[[str], None],
) -> list[float]:
    """Let everything happen in an order that is drawn; return how long each took to heal."""
    random = Random(size.seed)
    pause = partial(random.uniform, 0.5, size.longest_freeze_s)
    broker = team.arena.broker

    def freeze_worker() -> None:
        process = team.jobs[random.randrange(WORKERS)].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(pause())
        process.send_signal(signal.SIGCONT)

    def freeze_broker() -> None:
        with producer.gate:  # a producer that gives up and tries again would publish twice
            broker.freeze()
            time.sleep(pause())
            broker.thaw()

    def kill_database() -> None:
        server.kill()
        time.sleep(pause())
        server.start()

    happenings: dict[str, tuple[int, Callable[[], None]]] = {
        "a worker is killed": (size.kills, lambda: team.kill(random.randrange(WORKERS))),
        "a worker stands still": (size.frozen_workers, freeze_worker),
        "the broker stands still": (size.frozen_brokers, freeze_broker),
        "PostgreSQL is killed": (size.database_kills, kill_database),
    }
    order = [name for name, (times, _) in happenings.items() for _ in range(times)]
    random.shuffle(order)
    share = size.snapshots // (len(order) + 1)
    producer.publish(share)
    team.until_answered(share)
    healed = []
    for number, name in enumerate(order, start=1):
        say(f"disturbance {number} of {len(order)}: {name}")
        producer.publish(share)
        time.sleep(random.uniform(0.0, 0.5))  # strike in the middle of the work
        happenings[name][1]()
        began = time.monotonic()
        team.until_answered(share * (number + 1))
        healed.append(time.monotonic() - began)
    return healed
