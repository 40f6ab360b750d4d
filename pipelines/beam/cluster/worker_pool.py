"""Beam's worker pool, on the loopback interface only, because it runs any steps that it is sent.
Beam's own entry point listens on all interfaces.

    python -m radarstream.pipelines.beam.cluster.worker_pool --service_port=50000

Workers are forked from a process with all imports done. Task managers of a machine may share a
pool.
"""

import atexit
import logging
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from threading import Lock
from typing import Any

if __name__ == "__main__":  # before the imports, which take seconds
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))

import grpc  # type: ignore[import-untyped]
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc
from apache_beam.runners.worker import sdk_worker, worker_pool_main
from apache_beam.utils.thread_pool_executor import shared_unbounded_instance

from radarstream.connectors.traces import traces

HOST = "127.0.0.1"
PATIENCE_S = 10.0  # for the end of a worker
FORKS = get_context("forkserver")
IMPORTED = ["apache_beam.runners.worker.sdk_worker", "radarstream.pipelines.beam.cluster.job"]
_PINGS = [("grpc.http2.max_pings_without_data", 0), ("grpc.http2.max_ping_strikes", 0)]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Worker:
    """A worker process, with the id and the connection of its task manager."""

    id: str
    peer: str
    process: BaseProcess

    def end(self) -> None:
        """Terminate the process, then kill it if it still runs."""
        for stop in (self.process.terminate, self.process.kill):
            if self.process.is_alive():
                stop()
                self.process.join(PATIENCE_S)


class LoopbackWorkerPool(worker_pool_main.BeamFnExternalWorkerPoolServicer):
    """The worker pool with another address, and another way to start processes."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.workers: list[Worker] = []
        self._lock = Lock()

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
        atexit.register(pool.end_all)
        return f"{HOST}:{bound}", server

    def StartWorker(self, start_worker_request: Any, unused_context: Any) -> Any:  # noqa: N802
        """Start a worker: a process, or with `--environment LOOPBACK` a thread of this one."""
        if not self._use_process or self._container_executable:
            return super().StartWorker(start_worker_request, unused_context)
        asked = start_worker_request
        limits = (self._state_cache_size, self._data_buffer_time_limit_ms)
        arguments = (asked.control_endpoint.url, asked.worker_id, *limits)
        process = FORKS.Process(target=work, args=arguments)
        try:
            process.start()
        except OSError as error:
            return beam_fn_api_pb2.StartWorkerResponse(error=f"no process: {error}")
        log.info("worker %s is process %d", asked.worker_id, process.pid)
        with self._lock:
            self.workers = [worker for worker in self.workers if worker.process.is_alive()]
            self.workers.append(Worker(asked.worker_id, unused_context.peer(), process))
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(self, stop_worker_request: Any, unused_context: Any) -> Any:  # noqa: N802
        """Stop the worker with an id that this connection started, or the only one with the id."""
        with self._lock:
            named = [w for w in self.workers if w.id == stop_worker_request.worker_id]
            own = [w for w in named if w.peer == unused_context.peer()]
            ended = own or (named if len(named) == 1 else [])
            self.workers = [worker for worker in self.workers if worker not in ended]
        for worker in ended:
            worker.process.join(1.0)
            worker.end()
        return super().StopWorker(stop_worker_request, unused_context)

    def end_all(self) -> None:
        """End all worker processes."""
        for worker in self.workers:
            worker.end()


def work(endpoint: str, worker_id: str, state_cache_size: int, buffer_ms: int) -> None:
    """Run a worker in its own process until the runner closes the control stream."""
    logging.getLogger().setLevel(logging.INFO)
    logging.getLogger("apache_beam.transforms.util").setLevel(logging.WARNING)  # logs every batch
    with suppress(grpc.RpcError):  # the runner has ended
        sdk_worker.SdkHarness(
            endpoint,
            worker_id=worker_id,
            state_cache_size=state_cache_size,
            data_buffer_time_limit_ms=buffer_ms,
        ).run()
    traces().flush()  # exit handlers do not run in such a process


def stay_on_loopback() -> None:
    """Make Beam start pools of this class, also for `--environment LOOPBACK`."""
    worker_pool_main.BeamFnExternalWorkerPoolServicer = LoopbackWorkerPool  # type: ignore[misc]


if __name__ == "__main__":
    # The process from which workers are forked starts before this one has threads.
    FORKS.set_forkserver_preload(IMPORTED)
    FORKS.Process(target=int).start()
    stay_on_loopback()
    # An interrupt and a termination end the workers; by default, a background job ignores the one
    # and the first process of a container the other.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with suppress(KeyboardInterrupt):  # during the start; later Beam's loop handles it
        worker_pool_main.main()
