"""Flink and Beam's job server as processes, with what the Flink Kubernetes operator is given."""

from pathlib import Path

import psutil
import pytest

from tests.clocks import until
from tests.deployed_processes import READY_S, Machine
from tests.deployment_files import containers, flink
from tests.engines.artifacts import java, missing
from tests.engines.flink import JobManager, JobServer, TaskManager
from tests.servers import free_port

pytestmark = pytest.mark.long

MISSING = missing("flink", "job-server")


class DeployedJobServer(JobServer):
    """Beam's job server with the arguments of its container."""

    def command(self) -> list[str]:
        (container,) = (c for c in containers() if c["name"] == "job-server")
        rest, staging = f"127.0.0.1:{self.job_manager.rest}", str(self.directory / "beam-staging")
        places = {"radarstream-flink-rest:8081": rest, "/beam-staging": staging}
        machine = Machine(self.directory, places)
        own = {"job-port": self.port, "artifact-port": self.artifacts}
        arguments = [machine.here(argument) for argument in container["args"]]
        arguments += [f"--{name}={port}" for name, port in own.items()]
        main = "org.apache.beam.runners.flink.FlinkJobServerDriver"
        return java("job-server", main, *arguments, options=("-Xmx512m", "-XX:+UseSerialGC"))


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_flink_and_the_job_server_start_with_what_the_operator_is_given(tmp_path: Path) -> None:
    """Without the operator: job manager, task manager and job server with its configuration."""
    free = {port: str(free_port()) for port in ("6121", "6122", "6124")}
    # Both managers take it, each at an address of its own; here they share one.
    free["6125"] = "20000-30000"
    machine = Machine(tmp_path, free | {"/flink/": f"{tmp_path}/"})
    given = {name: machine.here(value) for name, value in flink()["flinkConfiguration"].items()}
    job_manager = JobManager(tmp_path, given)
    job_server = DeployedJobServer(job_manager)
    servers = [job_manager, TaskManager(job_manager, 0), job_server]
    try:
        job_manager.start()
        for server in servers[1:]:
            server.launch()
        for server in servers[1:]:
            server.until_ready()
        told = {pair["key"]: pair["value"] for pair in job_manager.ask("/jobmanager/config")}
        assert {name: told.get(name) for name in given} == given
        slots = int(given["taskmanager.numberOfTaskSlots"])
        there = lambda: job_manager.ask("/overview")["slots-total"] == slots  # noqa: E731
        until(there, READY_S, servers[1].log.read_text)
        assert job_server.process
        found = psutil.Process(job_server.process.pid).net_connections("tcp")
        listening = {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}
        assert listening == {job_server.port, job_server.artifacts}
        for server in reversed(servers):
            assert server.process
            server.process.terminate()
            assert server.process.wait(30) == 143, server.log.read_text(errors="replace")[-2000:]
    finally:
        for server in servers:
            server.kill()
