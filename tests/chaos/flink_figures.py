"""How much one process, groups of workers and Flink answer in a second, and how soon.

All use the same servers, topics and a database of their own each, and are measured as in `workers`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.state_table.database.engine import sqlite_url
from tests.benchmarks.bench_stream import story
from tests.chaos import workers
from tests.chaos.arena import Arena
from tests.chaos.findings import findings
from tests.chaos.flink_arena import PARTITIONS, FlinkArena, on_flink
from tests.chaos.trials import Say
from tests.servers import Server

GROUPS = (2, 4)
PARALLELISMS = (2, 4)
Watched = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Topology:
    """One way to run the job: `at_work` starts it, gives its processes by name, and ends it."""

    name: str
    at_work: Callable[[FlinkArena], AbstractContextManager[Watched]]


def topologies() -> list[Topology]:
    """One process first, with which the others compare."""
    groups = [
        Topology(f"{count} workers, PostgreSQL", partial(group_at_work, count=count))
        for count in GROUPS
    ]
    jobs = [
        Topology(f"Flink, parallelism {parallelism}", partial(job_at_work, parallelism=parallelism))
        for parallelism in PARALLELISMS
    ]
    return [Topology(workers.ONE_PROCESS, partial(group_at_work, count=0)), *groups, *jobs]


def run_figures(size: workers.Size, directory: Path, say: Say) -> workers.Outcome:
    """Measure every topology, one after the other, and compare what is left."""
    began = time.monotonic()
    given = story(size.backlog + size.steady)
    speeds, left = {}, {}
    with on_flink(directory) as flink:
        for number, topology in enumerate(topologies()):
            say(f"measuring {topology.name}")
            arena = arena_of(flink, f"t{number}", alone=number == 0)
            with topology.at_work(replace(flink, arena=arena)) as watched:
                watched = {**watched, **servers(flink)}
                speeds[topology.name] = workers.measured(size, arena.options, given, watched)
            left[topology.name] = (arena.options, arena.database)
        calm = left[workers.ONE_PROCESS]
        found = {name: findings(given, place, calm, None) for name, place in left.items()}
    codes: dict[str, list[int]] = {name: [] for name in left}
    return workers.Outcome(size, speeds, found, codes, time.monotonic() - began)


def arena_of(flink: FlinkArena, name: str, *, alone: bool) -> Arena:
    """Topics and a database of their own; a process that is alone has a file."""
    place = flink.arena.directory / name
    place.mkdir()
    options = flink.broker.options(topic_prefix=f"{name}.", group=name, partitions=PARTITIONS)
    ensure_topics(options)
    database = sqlite_url(place / "state.db") if alone else flink.server.new_database()
    return Arena(flink.broker, options, place, database, workers.PLAIN)


def servers(flink: FlinkArena) -> Watched:
    """The processes that every topology uses."""
    return {"Kafka": process_ids(flink.broker), "PostgreSQL": [flink.server.process_id()]}


def process_ids(*started: Server) -> list[int]:
    """The processes of servers that run."""
    return [server.process.pid for server in started if server.process is not None]


@contextmanager
def group_at_work(flink: FlinkArena, *, count: int) -> Iterator[Watched]:
    """So many workers of a group; 0: one process that shares with nobody."""
    with workers.at_work(flink.arena, count) as jobs:
        yield {"workers": [job.process.pid for job in jobs]}


@contextmanager
def job_at_work(flink: FlinkArena, *, parallelism: int) -> Iterator[Watched]:
    """The job on Flink."""
    cluster = flink.cluster
    flink.submit(parallelism)
    try:
        yield {
            "Python workers": process_ids(cluster.pool),
            "Flink": process_ids(cluster.job_manager, *cluster.task_managers),
        }
    finally:
        flink.cancel()
