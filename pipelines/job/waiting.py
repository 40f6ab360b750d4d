"""A start waits for a database or a broker that is not there yet, as they come up in any order."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TypeVar

import structlog
from prometheus_client import CollectorRegistry

from radarstream.pipelines.job.background import unless_stopped
from radarstream.pipelines.job.failures import kind_of, named
from radarstream.pipelines.job.stopping import AskedToStopError, Stop
from radarstream.pipelines.job.telemetry.endpoint import serving
from radarstream.pipelines.job.telemetry.health import CHECKS, Check, Health
from radarstream.pipelines.settings import JobSettings, Settings
from radarstream.schemas.errors import RadarstreamError

ResultT = TypeVar("ResultT")

log = structlog.get_logger("radarstream")


def pause_s(attempt: int, settings: JobSettings, random: Random) -> float:
    """Exponential back-off with full jitter, at least a tenth of it; the first `attempt` is 0."""
    growing = settings.first_pause_s * 2.0 ** min(attempt, 60)
    return min(settings.longest_pause_s, growing) * random.uniform(0.1, 1.0)


@dataclass
class Waiting:
    """Tries until it succeeds, or somebody asks to stop; /healthz answers meanwhile.

    Not `patient`, it tries once: somebody sits before a command that ends by itself.
    """

    health: Health
    stop: Stop
    settings: JobSettings
    patient: bool = True
    random: Random = field(default_factory=Random)

    def until(self, check: Check, work: Callable[[], ResultT]) -> ResultT:
        """Return what `work` returns, once it does; the check has passed then.

        Raises AskedToStopError, and at once what does not heal by itself.
        """
        for attempt in count():
            try:
                with self.health.busy(f"waiting for {check}"):
                    result = unless_stopped(work, self.stop)
            except Exception as error:
                self.health.passed(check, False)
                if not self.patient or kind_of(error) != "transient":
                    raise
                self.pause(check, attempt, error)
            else:
                self.health.passed(check)
                return result
        raise AssertionError("there is always another attempt")

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
    health = Health(telemetry.silence_s, telemetry.busy_silence_s, checks=checks)
    with serving(telemetry.listen, registry, health):
        yield Waiting(health, stop, settings.job, patient)
