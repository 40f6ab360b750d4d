"""Beam's worker pool, on the loopback interface only.

It starts Python workers that run whatever steps they are sent, and Beam's own entry point lets
every machine that reaches it ask for one. A pool shares the network of the task manager that it
serves, and loopback is all that one needs.

    python -m radarstream.pipelines.beam.cluster.worker_pool --service_port=50000
"""

import atexit
import os
import signal
import sys
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
from apache_beam.portability.api import beam_fn_api_pb2_grpc
from apache_beam.runners.worker import worker_pool_main
from apache_beam.utils.thread_pool_executor import shared_unbounded_instance

HOST = "127.0.0.1"
_PINGS = [("grpc.http2.max_pings_without_data", 0), ("grpc.http2.max_ping_strikes", 0)]


class LoopbackWorkerPool(worker_pool_main.BeamFnExternalWorkerPoolServicer):
    """The worker pool, as far as where it listens is concerned."""

    @classmethod
    def start(
        cls,
        use_process: bool = False,
        port: int = 0,
        state_cache_size: int = 0,
        data_buffer_time_limit_ms: int = -1,
        container_executable: str | None = None,
    ) -> tuple[str, Any]:
        """Listen; return the address and the server. Raises RuntimeError for a port in use."""
        server = grpc.server(shared_unbounded_instance(), options=_PINGS)
        bound = server.add_insecure_port(f"{HOST}:{port}")
        pool = cls(use_process, container_executable, state_cache_size, data_buffer_time_limit_ms)
        beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
        server.start()
        atexit.register(pool.end_processes)
        return f"{HOST}:{bound}", server

    def end_processes(self) -> None:
        """End the workers that are processes."""
        for process in self._worker_processes.values():
            worker_pool_main.kill_process_gracefully(process)


def stay_on_loopback() -> None:
    """Have Beam start pools of this kind, also the one of `--environment LOOPBACK`."""
    worker_pool_main.BeamFnExternalWorkerPoolServicer = LoopbackWorkerPool  # type: ignore[misc]


def start_this_python() -> None:
    """Have workers started with the Python that runs the pool: Beam asks the path for `python`."""
    directory = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([directory, os.environ.get("PATH", os.defpath)])


if __name__ == "__main__":
    stay_on_loopback()
    start_this_python()
    # It ends its workers when it is interrupted, which the job of a background shell ignores, and
    # when it is terminated, which the first process of a container ignores.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    worker_pool_main.main()
