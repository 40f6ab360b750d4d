"""Waits for a database or a broker at the start, runs background work in threads, and checks that
the state database stays the one that the job began with.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread
from typing import Final, TypeVar

import structlog
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.state_table.database import groups
from radarstream.connectors.state_table.database.inspection import absent_file
from radarstream.pipelines.build import SNAPSHOTS, committed_offsets, enter_group, shared_engine
from radarstream.pipelines.job.failures import kind_of, named
from radarstream.pipelines.job.stopping import AskedToStopError, Stop
from radarstream.pipelines.job.telemetry.endpoint import CHECKS, Check, Health, serving
from radarstream.pipelines.settings import JobSettings, Settings
from radarstream.schemas.errors import ConfigurationError, RadarstreamError

ResultT = TypeVar("ResultT")
LOOK_S: Final = 0.05  # delay until a request to stop is noticed
PATIENCE_S: Final = 1.0  # for unfinished background work at the end
BUSY_SILENCE_S: Final = 1_800.0  # without progress while a model works, before /healthz fails

log = structlog.get_logger("radarstream")


@contextmanager
def repeating(
    name: str,
    work: Callable[[], object],
    every_s: float,
    at_end: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Run `work` in a thread, at once and every `every_s` seconds until the context ends, then
    `at_end`. Logs the first of consecutive failures. Waits `PATIENCE_S` for work that hangs.
    """
    over = Event()

    def run() -> None:
        failing = False
        while not over.is_set():
            try:
                work()
                failing = False
            except Exception as error:  # noqa: BLE001 must continue, whatever a library raises
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
    """Run `work` in a thread and return its result. Raises its error, or AskedToStopError at once
    when asked to stop; the thread then goes on.
    """
    outcome: Future[ResultT] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 raised again by `result`
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
    """Retries until success or a request to stop; tries only once if not `patient`."""

    health: Health
    stop: Stop
    settings: JobSettings
    patient: bool = True
    random: Random = field(default_factory=Random)

    def until(self, check: Check, work: Callable[[], ResultT]) -> ResultT:
        """Return the result of `work`. Raises AskedToStopError and non-transient errors."""
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
        own = isinstance(error, RadarstreamError)  # at a start, no message contains documents
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
    """Serve the telemetry of a process, and yield a `Waiting` for the services that it needs."""
    telemetry = settings.telemetry
    health = Health(telemetry.silence_s, BUSY_SILENCE_S, checks=checks)
    with serving(telemetry.listen, registry, health):
        yield Waiting(health, stop, settings.job, patient)


DATABASE_S: Final = 5.0  # interval of checks of the state database


@dataclass
class StateWatch:
    """Refuses work on a database other than the one that gave this group its mark."""

    engine: Engine
    group: str
    mark: str
    health: Health
    logged: bool = False
    seen: groups.Offsets = field(default_factory=dict)  # at the last check; they never decrease

    def insist(self) -> None:
        """Raise ConfigurationError if it was emptied, damaged, replaced or rolled back."""
        seen = self.seen  # before the database is read, as two threads check
        groups.insist_on_mark(self.engine, self.group, self.mark)
        with self.engine.connect() as connection:
            known = groups.known_offsets(connection, self.group)
        groups.refuse_unknown(self.engine.url.database, self.group, seen, known)
        self.seen = known

    def look(self) -> None:
        """Report to health whether the database answers and is the same, even in a long batch."""
        try:
            self.insist()
        except SQLAlchemyError:
            self.health.passed("database", False)
        except ConfigurationError as error:
            self.health.passed("database", False)
            if not self.logged:
                log.error("database_lost", error=error)  # noqa: TRY400 no frames where none help
            self.logged = True
        else:
            self.health.passed("database")


def open_database(
    settings: Settings, waiting: Waiting, group: str, *, topic: str = SNAPSHOTS, start_over: bool
) -> Engine:
    """Wait for the state database. Raises ConfigurationError if its SQLite file is missing although
    the group has committed, unless `start_over`.
    """
    file = absent_file(settings.database)

    def refuse_lost_file() -> None:
        ensure_topics(settings.kafka)
        groups.refuse_unknown(str(file), group, committed_offsets(settings, group, topic), {})

    if file is not None and not start_over:
        waiting.until("broker", refuse_lost_file)
    return waiting.until("database", lambda: shared_engine(settings))


@contextmanager
def watched_state(
    settings: Settings, waiting: Waiting, group: str, *, topic: str = SNAPSHOTS, start_over: bool
) -> Iterator[StateWatch]:
    """Create the topics, enter the consumer group, and check its database in a thread."""
    waiting.until("broker", lambda: ensure_topics(settings.kafka))
    mark = waiting.until(
        "broker", lambda: enter_group(settings, group, topic=topic, start_over=start_over)
    )
    state = StateWatch(shared_engine(settings), group, mark, waiting.health)
    with repeating("database", state.look, DATABASE_S):
        yield state
