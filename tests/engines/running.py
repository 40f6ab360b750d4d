"""Engines that outlive the command that starts them; a state file says what runs where."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from tests.engines.artifacts import ROOT
from tests.engines.flink import FlinkCluster
from tests.engines.kafka import KafkaCluster
from tests.servers import Server, listens, port_near

STOPPING_S = 15.0
RADARSTREAM = Path(sys.executable).with_name("radarstream")
# Those that documents name; the pool's is below those that the system hands out while it starts.
PORTS = {"node 1": 9092, "job manager": 8081, "job server": 8099, "worker pool": 28050}


@dataclass(frozen=True)
class Process:
    """A process that was started: `born` tells it from a later one with the same number.

    `command` starts it again, in the directory of its `log`.
    """

    engine: str
    name: str
    pid: int
    born: str
    address: str
    log: str
    command: list[str]

    def runs(self) -> bool:
        """Whether it is still there."""
        return born(self.pid) == self.born

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.rpartition(":")[2])

    def place(self) -> str:
        """Where it listens, and why not where documents say."""
        usual = PORTS.get(self.name, self.port)
        return self.address + (f" ({usual} was taken)" if self.port != usual else "")


class Part(Server):
    """A part of an engine that has ended, to be started as before."""

    outlives = True

    def __init__(self, noted: Process) -> None:
        super().__init__(Path(noted.log).parent)
        self.noted, self.name = noted, noted.name
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def command(self) -> list[str]:
        return self.noted.command

    def ready(self) -> bool:
        return listens(self.noted.port)


class Engine(NamedTuple):
    """What starts an engine, and the jars that it needs."""

    start: Callable[[Path], dict[str, tuple[Server, str]]]
    jars: tuple[str, ...]


def start_kafka(directory: Path, nodes: int = 1) -> dict[str, tuple[Server, str]]:
    """Start Kafka, on its usual port where that is free. Data of an earlier start is kept."""
    cluster = KafkaCluster(directory, nodes)
    cluster.nodes[1].port = port_near(PORTS["node 1"])
    for node in cluster.nodes.values():
        node.outlives = True
    with killing(cluster):
        cluster.start()
    return {f"node {n}": (node, node.bootstrap) for n, node in cluster.nodes.items()}


def start_flink(directory: Path) -> dict[str, tuple[Server, str]]:
    """Start a session cluster, its job server and its worker pool."""
    cluster = FlinkCluster(directory)
    master, server, pool = cluster.job_manager, cluster.job_server, cluster.pool
    usual = (PORTS[name] for name in ("job manager", "job server", "worker pool"))
    master.rest, server.port, pool.port = map(port_near, usual)
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
                noted.append(process_of(engine, name, server, address))
            write(directory, noted)
    except BaseException:
        write(directory, noted)
        stop(directory)
        raise


def process_of(engine: str, name: str, server: Server, address: str) -> Process:
    """What the state file notes of a server that was started."""
    pid, command = server.process.pid, list(map(str, server.process.args))
    return Process(engine, name, pid, born(pid), address, str(server.log), command)


def revive(directory: Path) -> None:
    """Start the parts that have ended, as they were started. Raises RuntimeError."""
    noted = read(directory)
    parts = {n: Part(process) for n, process in enumerate(noted) if not process.runs()}
    for n, part in parts.items():
        part.launch()
        noted[n] = process_of(noted[n].engine, part.name, part, noted[n].address)
    write(directory, noted)
    for part in parts.values():
        part.until_ready()


def write(directory: Path, processes: list[Process]) -> None:
    """Write the state file, and for each Kafka settings with a database of its own."""
    directory.mkdir(parents=True, exist_ok=True)
    state = [asdict(process) for process in processes]
    (directory / "state.json").write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
    for engine in kafkas(processes):
        servers = [process.address for process in processes if process.engine == engine]
        (directory / f"{engine}.toml").write_text(
            f'profile = "scripted"\ndatabase = "sqlite:///{directory}/{engine}.sqlite"\n\n'
            f'[kafka]\nbootstrap = "{",".join(servers)}"\nreplication = {len(servers)}\n',
            encoding="utf-8",
        )


def kafkas(processes: list[Process]) -> list[str]:
    """The engines among these processes that are a Kafka."""
    return sorted({p.engine for p in processes if p.engine.startswith("kafka")})


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
    lines = [f"{p.engine}: {p.name} on {p.place()}, process {p.pid}, {p.log}" for p in processes]
    lines += [f"{p.engine}: {p.name} has ended, {p.log}" for p in ended]
    configs = [f" --config {directory}/{engine}.toml" for engine in kafkas(processes)]
    for config in configs:
        lines += ["", *(f"{RADARSTREAM} {words}{config}" for words in ("topics create", "run"))]
    at = {process.name: process.address for process in processes if process.engine == "flink"}
    if {"job server", "job manager", "worker pool"} <= at.keys():
        for config in configs or [""]:
            submit = f"{RADARSTREAM} submit{config} --job-endpoint {at['job server']}"
            lines += [
                "",
                f"{submit} --environment LOOPBACK",
                f"RADARSTREAM_KAFKA__GROUP=pool {submit} --worker-pool {at['worker pool']} --detach"
                "  # with `database` in PostgreSQL",
            ]
        lines.append(f"Flink's pages: http://{at['job manager']}")
    again = ["To start what has ended: make engines"] if ended and processes else []
    return [*lines, "", *again, "To stop them: make engines-stop"]
