"""A Flink session cluster of its own: a job manager, task managers, Beam's job server, a pool.

One worker pool serves every task manager: a job has one address for its Python workers, and all
task managers of one machine share its loopback.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from os import environ, pathsep
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from tests.engines.artifacts import ROOT, java
from tests.servers import Server, free_port, listens

SLOTS = 2  # of a task manager
PREFIX = "BASH_JAVA_UTILS_EXEC_RESULT:"
# The compiler that starts quickly: what a process does here, it does for minutes.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
ALIVE = ("CREATED", "RESTARTING", "RUNNING", "FAILING", "CANCELLING", "INITIALIZING")


class JobManager(Server):
    """Flink's job manager with its REST port."""

    name = "Flink's job manager"

    def __init__(self, directory: Path, extra: Mapping[str, str] | None = None) -> None:
        super().__init__(directory / "job-manager")
        self.shared, self.rest, self.rpc = directory, free_port(), free_port()
        self.extra = extra or {}

    def configuration(self) -> dict[str, str]:
        """What job manager and task managers are told."""
        return {
            "jobmanager.rpc.address": "127.0.0.1",
            "jobmanager.rpc.port": str(self.rpc),
            "jobmanager.bind-host": "127.0.0.1",
            "jobmanager.memory.process.size": "1000m",
            "taskmanager.host": "127.0.0.1",
            "taskmanager.bind-host": "127.0.0.1",
            "taskmanager.numberOfTaskSlots": str(SLOTS),
            "taskmanager.memory.process.size": "1500m",
            # Every submission brings the job server's classes again.
            "taskmanager.memory.jvm-metaspace.size": "512m",
            "taskmanager.memory.managed.size": "64m",
            "rest.address": "127.0.0.1",
            "rest.bind-address": "127.0.0.1",
            "rest.port": str(self.rest),
            "state.backend.type": "hashmap",
            "state.checkpoints.dir": f"file://{self.shared}/checkpoints",
            "state.savepoints.dir": f"file://{self.shared}/savepoints",
            "execution.checkpointing.tolerable-failed-checkpoints": "3",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1000",
            "restart-strategy.fixed-delay.delay": "1 s",
            "heartbeat.interval": "1000",
            "heartbeat.timeout": "5000",
            **self.extra,
        }

    @property
    def folder(self) -> Path:
        """The folder that holds Flink's `config.yaml`."""
        return self.shared / "conf"

    def launch(self) -> None:
        """Write the configuration and start it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}: {value}" for name, value in self.configuration().items()]
        (self.folder / "config.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        super().launch()

    def command(self) -> list[str]:
        main = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
        return java("flink", main, "--configDir", str(self.folder), options=("-Xmx512m", *QUICK))

    def ready(self) -> bool:
        try:
            return "taskmanagers" in self.ask("/overview")
        except URLError:
            return False

    def ask(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Ask Flink's REST interface. Raises URLError (HTTPError for a refusal)."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"http://127.0.0.1:{self.rest}{path}", data, method=method)
        with urlopen(request, timeout=10) as response:
            return json.loads(response.read() or b"{}")


class TaskManager(Server):
    """A task manager of a job manager."""

    name = "Flink's task manager"

    def __init__(self, job_manager: JobManager, number: int) -> None:
        super().__init__(job_manager.shared / f"task-manager-{number}")
        self.job_manager = job_manager
        self.rpc = free_port()

    def command(self) -> list[str]:
        folder = ("--configDir", str(self.job_manager.folder))
        tool = "org.apache.flink.runtime.util.bash.BashJavaUtils"
        told = subprocess.run(
            java("flink", tool, "GET_TM_RESOURCE_PARAMS", *folder, options=QUICK),
            check=True,
            capture_output=True,
            text=True,
        )
        memory, dynamic = (
            line.removeprefix(PREFIX).split()
            for line in told.stdout.splitlines()
            if line.startswith(PREFIX)
        )
        own = ["-D", f"taskmanager.rpc.port={self.rpc}"]
        main = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
        return java("flink", main, *folder, *dynamic, *own, options=(*memory, *QUICK))

    def ready(self) -> bool:
        """Whether it has registered with its job manager."""
        known = self.job_manager.ask("/taskmanagers")["taskmanagers"]
        return any(f"127.0.0.1:{self.rpc}" in manager["path"] for manager in known)


class JobServer(Server):
    """Beam's job server for a Flink cluster."""

    name = "Beam's job server"

    def __init__(self, job_manager: JobManager) -> None:
        super().__init__(job_manager.shared / "job-server")
        self.job_manager = job_manager
        self.port, self.artifacts, self.expansion = free_port(), free_port(), free_port()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        options = {
            "flink-master": f"127.0.0.1:{self.job_manager.rest}", "job-host": "127.0.0.1",
            "job-port": self.port, "artifact-port": self.artifacts,
            "expansion-port": self.expansion, "artifacts-dir": self.directory / "artifacts",
        }  # fmt: skip
        given = [f"--{name}={value}" for name, value in options.items()]
        main = "org.apache.beam.runners.flink.FlinkJobServerDriver"
        return java("job-server", main, *given, options=("-Xmx512m", *QUICK))

    def ready(self) -> bool:
        return listens(self.port)


class WorkerPool(Server):
    """Beam's worker pool, which runs the Python steps. `variables` are its environment's."""

    name = "the worker pool"

    def __init__(self, directory: Path, variables: Mapping[str, str] | None = None) -> None:
        super().__init__(directory / "worker-pool")
        self.port = free_port()
        paths = [str(ROOT), *filter(None, [environ.get("PYTHONPATH")])]
        self.environment = {**environ, "PYTHONPATH": pathsep.join(paths), **(variables or {})}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        module = "radarstream.pipelines.beam.cluster.worker_pool"
        return [sys.executable, "-m", module, f"--service_port={self.port}"]

    def ready(self) -> bool:
        return listens(self.port)


class FlinkCluster:
    """All processes of a session cluster. `extra` are further lines of Flink's configuration."""

    def __init__(
        self,
        directory: Path,
        task_managers: int = 2,
        *,
        extra: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.job_manager = JobManager(directory, extra)
        self.task_managers = [TaskManager(self.job_manager, n) for n in range(task_managers)]
        self.job_server = JobServer(self.job_manager)
        self.pool = WorkerPool(directory, variables)

    @property
    def servers(self) -> list[Server]:
        return [self.job_manager, *self.task_managers, self.job_server, self.pool]

    def start(self) -> None:
        """Start everything; the job manager first, the others ask for it."""
        self.job_manager.start()
        for server in self.servers[1:]:
            server.launch()
        for server in self.servers[1:]:
            server.until_ready()

    def kill(self) -> None:
        """SIGKILL to every process."""
        for server in reversed(self.servers):
            server.kill()

    def jobs(self) -> dict[str, str]:
        """The state of each job that has not ended, by its id."""
        known = self.job_manager.ask("/jobs")["jobs"]
        return {job["id"]: job["status"] for job in known if job["status"] in ALIVE}

    def checkpoints(self, job: str) -> list[dict[str, Any]]:
        """A job's last completed checkpoints, newest first: id, state_size, external_path …"""
        history = self.job_manager.ask(f"/jobs/{job}/checkpoints")["history"]
        return [checkpoint for checkpoint in history if checkpoint["status"] == "COMPLETED"]

    def cancel(self, job: str) -> None:
        """Cancel a job; its last checkpoint stays."""
        self.job_manager.ask(f"/jobs/{job}?mode=cancel", "PATCH")

    def stop_with_savepoint(self, job: str) -> str:
        """Ask a job to stop with a savepoint; returns the id of the request."""
        asked = self.job_manager.ask(f"/jobs/{job}/stop", "POST", {"drain": False})
        return str(asked["request-id"])

    def savepoint(self, job: str, request: str) -> str | None:
        """Where the savepoint of a request is, None while it is written. Raises RuntimeError."""
        told = self.job_manager.ask(f"/jobs/{job}/savepoints/{request}")
        if told["status"]["id"] != "COMPLETED":
            return None
        if "location" not in told["operation"]:
            raise RuntimeError(str(told["operation"])[:2000])
        return str(told["operation"]["location"])
