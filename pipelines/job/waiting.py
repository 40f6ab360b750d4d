"""Starts that wait for a database or a broker, and work in threads beside a busy loop."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread
from typing import Final, TypeVar

import structlog
from prometheus_client import CollectorRegistry

from radarstream.pipelines.job.failures import kind_of, named
from radarstream.pipelines.job.stopping import AskedToStopError, Stop
from radarstream.pipelines.job.telemetry.endpoint import serving
from radarstream.pipelines.job.telemetry.health import CHECKS, Check, Health
from radarstream.pipelines.settings import JobSettings, Settings
from radarstream.schemas.errors import RadarstreamError

ResultT = TypeVar("ResultT")
LOOK_S: Final = 0.05  # how soon a wish to stop is noticed
PATIENCE_S: Final = 1.0  # for work in hand at the end
BUSY_SILENCE_S: Final = 1_800.0  # without progress while a model works, before /healthz fails

log = structlog.get_logger("radarstream")


@contextmanager
def repeating(
    name: str,
    work: Callable[[], object],
    every_s: float,
    at_end: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Do `work` at once and every so many seconds until the context ends, then `at_end`. Of a
    series of failures the first is logged. Work that hangs at the end is left behind.
    """
    over = Event()

    def run() -> None:
        failing = False
        while not over.is_set():
            try:
                work()
                failing = False
            except Exception as error:  # noqa: BLE001 it must go on, whatever a library raises
                if not failing:
                    log.warning("background work fails", stage=name, error=error)
                failing = True
            over.wait(every_s)
        at_end()

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(PATIENCE_S)


def unless_stopped(work: Callable[[], ResultT], stopping: Callable[[], bool]) -> ResultT:
    """What `work` returns or raises; AskedToStopError as soon as asked to, with work
    left behind.
    """
    outcome: Future[ResultT] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 raised again by whoever waits
            outcome.set_exception(error)

    Thread(target=run, name="waiting", daemon=True).start()
    while not outcome.done():
        if stopping():
            raise AskedToStopError
        wait([outcome], timeout=LOOK_S)
    return outcome.result()


def pause_s(attempt: int, settings: JobSettings, random: Random) -> float:
    """Exponential back-off with full jitter, at least a tenth of it; the first `attempt` is 0."""
    growing = settings.first_pause_s * 2.0 ** min(attempt, 60)
    return min(settings.longest_pause_s, growing) * random.uniform(0.1, 1.0)


@dataclass
class Waiting:
    """Tries until it succeeds or somebody asks to stop; once, if not `patient`."""

    health: Health
    stop: Stop
    settings: JobSettings
    patient: bool = True
    random: Random = field(default_factory=Random)

    def until(self, check: Check, work: Callable[[], ResultT]) -> ResultT:
        """What `work` returns once it does. Raises AskedToStopError, and what does not heal."""
        attempt = 0
        while True:
            try:
                with self.health.busy(f"waiting for {check}"):
                    result = unless_stopped(work, self.stop)
            except Exception as error:
                self.health.passed(check, False)
                if not self.patient or kind_of(error) != "transient":
                    raise
                self.pause(check, attempt, error)
                attempt += 1
            else:
                self.health.passed(check)
                return result

    def pause(self, check: Check, attempt: int, error: Exception) -> None:
        """Log the failed try and wait. Raises AskedToStopError."""
        pause = pause_s(attempt, self.settings, self.random)
        own = isinstance(error, RadarstreamError)  # at a start its words cannot be of a document
        log.warning(
            "waiting",
            stage=check,
            attempt=attempt + 1,
            pause_s=round(pause, 3),
            failure=named(error),
            detail=str(error) if own else None,
        )
        if self.stop.event.wait(pause):
            raise AskedToStopError


@contextmanager
def starting(
    settings: Settings,
    stop: Stop,
    registry: CollectorRegistry,
    checks: Sequence[Check] = CHECKS,
    *,
    patient: bool,
) -> Iterator[Waiting]:
    """Serve the telemetry of a process, and yield what waits for the services that it needs."""
    telemetry = settings.telemetry
    health = Health(telemetry.silence_s, BUSY_SILENCE_S, checks=checks)
    with serving(telemetry.listen, registry, health):
        yield Waiting(health, stop, settings.job, patient)
