"""The job on a Flink cluster: submitted, watched, and its processes killed."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import URLError

import psutil

from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.kafka.topics import ensure_topics
from tests.brokers import Broker, running_broker
from tests.chaos.arena import ROOT, Arena
from tests.clocks import until
from tests.end_to_end.running_job import events
from tests.engines.flink import FlinkCluster, TaskManager
from tests.postgresql import PostgresqlServer, running_server
from tests.programs import done
from tests.servers import running

ANSWERS = "answers.defended"
CHECKPOINT_S = 10.0
PARTITIONS = 4
STOPS = 3  # that may fail
WITHIN_S = 300.0  # for what is measured, not required


@dataclass
class FlinkArena:
    """Runs one job on a cluster. `arena` says which topics and database.

    `restored_from` has the checkpoint or savepoint that each submission went on from.
    """

    cluster: FlinkCluster
    broker: Broker
    server: PostgresqlServer
    arena: Arena
    job: str = ""
    parallelism: int = 0
    failed_stops: int = 0
    restored_from: list[str] = field(default_factory=list)

    def submit(self, parallelism: int, *options: str, savepoint: str = "") -> None:
        """Submit the job and wait until every subtask runs. Raises RuntimeError."""
        known = set(self.all_jobs())
        command = ["submit", "--profile", "scripted", "--detach"]
        command += ["--job-endpoint", self.cluster.job_server.endpoint]
        command += ["--environment", "EXTERNAL", "--worker-pool", self.cluster.pool.address]
        command += ["--parallelism", str(parallelism), "--checkpoint-seconds", f"{CHECKPOINT_S:g}"]
        command += ["--savepoint", savepoint, *options]
        variables = self.arena.environment | self.arena.variables
        told = done(*command, directory=ROOT, timeout_s=WITHIN_S, **variables)
        if told.returncode:
            raise RuntimeError(f"submit ended with {told.returncode}: {told.stderr[-3000:]}")
        until(lambda: bool(set(self.all_jobs()) - known), WITHIN_S)
        (self.job,) = set(self.all_jobs()) - known
        self.parallelism = parallelism
        self.restored_from += [savepoint] if savepoint else []
        until(self.all_run, WITHIN_S, self.standing)

    def all_jobs(self) -> list[str]:
        """The ids of all jobs that the job manager knows."""
        return [job["id"] for job in self.cluster.job_manager.ask("/jobs")["jobs"]]

    def ask(self, path: str = "") -> Any:
        """Ask about the job."""
        return self.cluster.job_manager.ask(f"/jobs/{self.job}{path}")

    def all_run(self, since_ms: float = 0.0) -> bool:
        """Whether the job runs with every subtask, all started later than `since_ms`."""
        try:
            told = self.ask()
        except URLError:
            return False
        if told["state"] == "FAILED":
            raise RuntimeError(str(self.ask("/exceptions"))[:5000])
        return told["state"] == "RUNNING" and all(
            vertex["tasks"]["RUNNING"] == vertex["parallelism"] and vertex["start-time"] > since_ms
            for vertex in told["vertices"]
        )

    def standing(self) -> str:
        """What may keep subtasks from running."""
        told, free = self.ask(), self.free_slots()
        tasks = [{s: n for s, n in one["tasks"].items() if n} for one in told["vertices"]]
        ended = [server.name for server in self.cluster.servers if not server.running]
        return f"{told['state']}, {free} slots free, processes that ended: {ended}, {tasks}"

    def healthy_after(self, death_s: float) -> float:
        """Wait until all subtasks were started anew and an answer came since; return seconds.

        `death_s` is the wall clock at the death.
        """
        until(lambda: self.all_run(death_s * 1_000), WITHIN_S, self.standing)
        before = self.published()
        until(lambda: self.published() > before, WITHIN_S)
        return now_s() - death_s

    def hosts(self) -> list[TaskManager]:
        """The task managers that run subtasks of the job."""
        used: set[str] = set()
        for vertex in self.ask()["vertices"]:
            told = self.ask(f"/vertices/{vertex['id']}/taskmanagers")
            used |= {manager["taskmanager-id"] for manager in told["taskmanagers"]}
        managers = self.cluster.task_managers
        return [m for m in managers if any(f":{m.rpc}-" in name for name in used)]

    def kill_task_manager(self, random: Random) -> tuple[float, list[psutil.Process]]:
        """Kill one that runs subtasks and start it again; return when, and its Python workers."""
        manager = random.choice(self.hosts())
        workers = self.workers_of(manager)
        manager.kill()
        death_s = now_s()
        manager.launch()
        self.arena.count("task manager")
        return death_s, workers

    def workers_of(self, manager: TaskManager) -> list[psutil.Process]:
        """The Python workers that talk to a task manager."""
        assert manager.process is not None
        ports = ends(psutil.Process(manager.process.pid), psutil.CONN_LISTEN)
        return [p for p in self.pool_processes() if ends(p, psutil.CONN_ESTABLISHED) & ports]

    def pool_processes(self) -> list[psutil.Process]:
        """Everything that the worker pool has started."""
        assert self.cluster.pool.process is not None
        return psutil.Process(self.cluster.pool.process.pid).children(recursive=True)

    def kill_worker(self, random: Random) -> float:
        """Kill the Python workers of a task manager; return when.

        All of them: besides the one that works, those that Beam started for an attempt that failed
        meanwhile stay until their task manager ends.
        """
        for worker in self.workers_of(random.choice(self.hosts())):
            worker.kill()
        self.arena.count("Python worker")
        return now_s()

    def kill_pool(self) -> float:
        """Kill the worker pool with all its workers, as a container dies; start it again."""
        started = self.pool_processes()
        self.cluster.pool.kill()
        for process in started:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        death_s = now_s()
        self.cluster.pool.start()
        self.arena.count("worker pool")
        return death_s

    def kill_job_manager(self) -> float:
        """Kill it, start it again and go on from the last checkpoint; return when it died."""
        until(lambda: bool(self.cluster.checkpoints(self.job)), WITHIN_S)  # the first of this job
        last = self.cluster.checkpoints(self.job)[0]["external_path"]
        self.cluster.job_manager.kill()
        death_s = now_s()
        self.arena.count("job manager")
        self.cluster.job_manager.start()
        until(lambda: self.free_slots() >= self.parallelism, WITHIN_S)
        self.submit(self.parallelism, savepoint=last)
        return death_s

    def free_slots(self) -> int:
        """How many slots no job has."""
        return int(self.cluster.job_manager.ask("/overview")["slots-available"])

    def rescale(self, parallelism: int) -> None:
        """Stop with a savepoint and go on from it with another parallelism."""
        self.submit(parallelism, savepoint=self.stop())

    def stop(self) -> str:
        """Stop with a savepoint and return where it is; ask again where the job failed meanwhile.

        Raises RuntimeError when that does not help.
        """
        while True:
            request = self.cluster.stop_with_savepoint(self.job)
            try:
                until(lambda: self.cluster.savepoint(self.job, request) is not None, WITHIN_S)  # noqa: B023 called at once
            except RuntimeError:
                self.failed_stops += 1
                if self.failed_stops > STOPS:
                    raise
                until(self.all_run, WITHIN_S)
                continue
            until(lambda: self.ask()["state"] == "FINISHED", WITHIN_S)
            return str(self.cluster.savepoint(self.job, request))

    def until_answered(self, count: int) -> None:
        """Wait until so many different answers were published; AssertionError when none comes."""
        while (known := len(self.answers())) < count:
            until(lambda: len(self.answers()) > known, WITHIN_S)  # noqa: B023 called at once

    def answers(self) -> dict[str, bytes]:
        """The answers that were published by now, by their ids, in order."""
        return dict(events(self.arena.options, ANSWERS))

    def published(self) -> int:
        """How many answers were published by now, repetitions included."""
        with TopicReader(self.arena.options, [ANSWERS], start="latest") as reader:
            return sum(reader.places().values())

    def cancel(self) -> None:
        """End the job; its last checkpoint stays."""
        self.cluster.cancel(self.job)
        until(lambda: self.ask()["state"] == "CANCELED", WITHIN_S)


@contextmanager
def on_flink(directory: Path, **variables: str) -> Iterator[FlinkArena]:
    """A cluster with a broker and a database, no job on it yet; `variables` are the job's."""
    with (
        running_server() as server,
        running_broker("kafka", directory / "broker") as broker,
        running(FlinkCluster(directory / "flink")) as cluster,
    ):
        options = broker.options(topic_prefix="chaos.", group="chaos", partitions=PARTITIONS)
        ensure_topics(options)
        arena = Arena(broker, options, directory, server.new_database(), variables)
        yield FlinkArena(cluster, broker, server, arena)


def now_s() -> float:
    """The wall clock, by which Flink tells times."""
    return time.time()  # noqa: TID251 compared with what Flink tells


def ends(process: psutil.Process, state: str) -> set[int]:
    """The ports at the far end of a process' connections, or those at which it listens."""
    try:
        sockets = [s for s in process.net_connections("tcp") if s.status == state]
    except psutil.Error:
        return set()
    return {(s.laddr if state == psutil.CONN_LISTEN else s.raddr).port for s in sockets}


def outlive(workers: Sequence[psutil.Process], within_s: float) -> int:
    """How many of these processes are still there after so long."""
    _, alive = psutil.wait_procs(list(workers), timeout=max(0.0, within_s))
    return len(alive)
