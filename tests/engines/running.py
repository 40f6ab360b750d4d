"""Engines that outlive the command that starts them; a state file says what runs where."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from tests.engines.flink import FlinkCluster
from tests.engines.kafka import KafkaCluster
from tests.servers import Server, port_near

STOPPING_S = 15.0
KAFKA, REST, JOB_SERVER = 9092, 8081, 8099  # those that documents name
POOL = 28050  # below the ports that the system hands out to others while the pool starts


@dataclass(frozen=True)
class Process:
    """A process that was started: `born` tells it from a later one with the same number."""

    engine: str
    name: str
    pid: int
    born: str
    address: str
    log: str

    def runs(self) -> bool:
        """Whether it is still there."""
        return born(self.pid) == self.born


class Engine(NamedTuple):
    """What starts an engine, and the jars that it needs."""

    start: Callable[[Path], dict[str, tuple[Server, str]]]
    jars: tuple[str, ...]


def start_kafka(directory: Path, nodes: int = 1) -> dict[str, tuple[Server, str]]:
    """Start Kafka, on its usual port where that is free. Data of an earlier start is kept."""
    cluster = KafkaCluster(directory, nodes)
    cluster.nodes[1].port = port_near(KAFKA)
    for node in cluster.nodes.values():
        node.outlives = True
    with killing(cluster):
        cluster.start()
    return {f"node {n}": (node, node.bootstrap) for n, node in cluster.nodes.items()}


def start_flink(directory: Path) -> dict[str, tuple[Server, str]]:
    """Start a session cluster, its job server and its worker pool."""
    cluster = FlinkCluster(directory)
    master, server, pool = cluster.job_manager, cluster.job_server, cluster.pool
    master.rest, server.port, pool.port = map(port_near, (REST, JOB_SERVER, POOL))
    for process in cluster.servers:
        process.outlives = True
    with killing(cluster):
        cluster.start()
    managers = {
        f"task manager {n}": (manager, f"127.0.0.1:{manager.rpc}")
        for n, manager in enumerate(cluster.task_managers, 1)
    }
    return {
        "job manager": (master, f"127.0.0.1:{master.rest}"),
        **managers,
        "job server": (server, server.endpoint),
        "worker pool": (pool, pool.address),
    }


ENGINES = {
    "kafka": Engine(start_kafka, ("kafka",)),
    "kafka3": Engine(lambda directory: start_kafka(directory, 3), ("kafka",)),
    "flink": Engine(start_flink, ("flink", "job-server")),
}


@contextmanager
def killing(cluster: KafkaCluster | FlinkCluster) -> Iterator[None]:
    """End what a cluster has started when its start fails."""
    try:
        yield
    except BaseException:
        cluster.kill()
        raise


def start(engines: list[str], directory: Path) -> None:
    """Start engines and note them in the state file. Raises RuntimeError; then none is left."""
    noted: list[Process] = []
    try:
        for engine in engines:
            for name, (server, address) in ENGINES[engine].start(directory / engine).items():
                assert server.process is not None
                pid = server.process.pid
                log = str(server.log)
                noted.append(Process(engine, name, pid, born(pid), address, log))
            write(directory, noted)
    except BaseException:
        write(directory, noted)
        stop(directory)
        raise


def write(directory: Path, processes: list[Process]) -> None:
    """Write the state file, and settings for `radarstream --config`."""
    directory.mkdir(parents=True, exist_ok=True)
    state = [asdict(process) for process in processes]
    (directory / "state.json").write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
    servers = [process.address for process in processes if process.engine.startswith("kafka")]
    if servers:
        copies = min(3, len(servers))
        (directory / "engines.toml").write_text(
            f'profile = "scripted"\ndatabase = "sqlite:///{directory}/state.sqlite"\n\n'
            f'[kafka]\nbootstrap = "{",".join(servers)}"\nreplication = {copies}\n',
            encoding="utf-8",
        )


def read(directory: Path) -> list[Process]:
    """What the state file lists."""
    try:
        rows = json.loads((directory / "state.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [Process(**row) for row in rows]


def alive(directory: Path) -> list[Process]:
    """The processes of the state file that still run."""
    return [process for process in read(directory) if process.runs()]


def stop(directory: Path) -> None:
    """SIGTERM to all, the last started first; SIGKILL to what is left, with its children."""
    ending = alive(directory)[::-1]
    for process in ending:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOPPING_S
    while any(process.runs() for process in ending) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in ending:
        with suppress(ProcessLookupError):  # each leads a group of its own
            os.killpg(process.pid, signal.SIGKILL)
    (directory / "state.json").unlink(missing_ok=True)


def born(pid: int) -> str:
    """When a process was started, in clock ticks since boot; empty where none runs."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def described(directory: Path, processes: list[Process]) -> list[str]:
    """Lines that say what runs where, what has ended, and what to type."""
    ended = [process for process in read(directory) if process not in processes]
    lines = [f"{p.engine}: {p.name} on {p.address}, process {p.pid}, {p.log}" for p in processes]
    lines += [f"{p.engine}: {p.name} has ended, {p.log}" for p in ended]
    config = f"--config {directory}/engines.toml"
    at = {process.name: process.address for process in processes if process.engine == "flink"}
    if any(process.engine.startswith("kafka") for process in processes):
        lines += ["", f"radarstream topics create {config}", f"radarstream run {config}"]
    if {"job server", "job manager", "worker pool"} <= at.keys():
        submit = f"radarstream submit {config} --runner portable --job-endpoint {at['job server']}"
        lines += [
            f"{submit} --environment LOOPBACK",
            f"RADARSTREAM_KAFKA__GROUP=pool {submit} --worker-pool {at['worker pool']} --detach"
            "  # with `database` in PostgreSQL",
            f"Flink's pages: http://{at['job manager']}",
        ]
    return [*lines, "To stop them: make engines-stop"]
