"""Puts the continuous job together from its settings."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Final

import structlog
from sqlalchemy import Engine

from connectors.kafka.sink import KafkaSink
from connectors.kafka.source import KafkaLog
from connectors.kafka.topics import ensure_topics
from connectors.state_table.outbox import append, depth, publish_outbox
from pipelines.beam.micro_batch import MicroBatch
from pipelines.build import probe_service, shared_engine, shared_guard
from pipelines.job.driver import Driver
from pipelines.job.endpoint import serving
from pipelines.job.failures import behind, kind_of, named
from pipelines.job.health import Health
from pipelines.job.holding import HoldBack, place
from pipelines.job.logs import configure_logging
from pipelines.job.metrics import JobMetrics
from pipelines.job.model_metrics import ModelMetrics
from pipelines.job.observing import Observer
from pipelines.job.stopping import Stop, SystemClock
from pipelines.job.tracing import traced
from pipelines.settings import Settings
from pipelines.signals.ports import Models
from pipelines.signals.prompts import build_prompt
from schemas.codec import dead_letter, decode_record, outbox_record
from schemas.errors import (
    BrokerError,
    ConfigurationError,
    DatabaseUnavailableError,
    InputError,
    JobFailedError,
    ModelError,
    RadarstreamError,
)
from schemas.events import DeadLetter
from schemas.prompt import AnswerPair, Task
from schemas.records import RawRecord

# Somebody else must act: the message says it all, and whoever called tells it.
PLAIN: Final = (BrokerError, ConfigurationError, DatabaseUnavailableError)

log = structlog.get_logger("radarstream")


@contextmanager
def opened_job(settings: Settings, stop: Stop) -> Iterator[Driver]:
    """Connect to everything and yield a driver that is ready to run; disconnect afterwards.

    Raises ConfigurationError for settings, BrokerError for a broker that does not answer.
    """
    engine, guard = shared_engine(settings), shared_guard(settings)
    probe_service(settings)  # a refused key or an unknown model ends it here
    metrics = JobMetrics()
    health = Health(settings.telemetry.silence_s, settings.telemetry.busy_silence_s)
    observers = [metrics.stage, health.busy]
    metrics.registry.register(ModelMetrics.of(guard.models))
    with ExitStack() as opened:
        for observer in observers:
            guard.meter.observers.append(observer)  # the guard is the process's own and stays
            opened.callback(guard.meter.observers.remove, observer)
        opened.enter_context(serving(settings.telemetry.listen, metrics.registry, health))
        ensure_topics(settings.kafka)
        snapshots = opened.enter_context(
            KafkaLog(
                settings.kafka,
                membership=settings.job.membership,
                partitions=settings.job.partitions,
            )
        )
        sink = opened.enter_context(KafkaSink(settings.kafka))
        with health.busy("warm up"):
            warm_up(guard.models, health)
        driver = Driver(
            log=snapshots,
            batch=MicroBatch(settings),
            publish=lambda lanes: publish_outbox(engine, sink, lanes=lanes),
            park=lambda record, refusal: park(engine, record, refusal),
            kind_of=kind_of,
            holding=HoldBack(settings.job.allowed_lateness_s, event_time_of(settings)),
            clock=SystemClock(stop),
            observer=Observer(
                log, metrics, health, lambda: depth(engine), group=settings.kafka.group
            ),
            settings=settings.job,
            stopping=stop,
        )
        opened.enter_context(
            traced(driver, guard.meter.observers, settings, guard.models.generator)
        )
        yield driver


def run_job(settings: Settings, *, drain: bool = False) -> None:
    """Run the job until SIGTERM, or until the topic is drained.

    Raises one of the project's errors when it cannot go on: JobFailedError where the cause is
    another library's, whose words may repeat what it was given. The log then has the frames; of
    broker, database server and settings only which failed, and nothing at the start.
    """
    configure_logging(settings.telemetry)
    stop, started = Stop(), False
    stop.install()
    try:
        with opened_job(settings, stop) as driver:
            started = True
            driver.run(drain=drain)
    except PLAIN as error:
        if started:  # hours later nobody watches the terminal
            log.error("failed", failure=named(error))  # noqa: TRY400 no frames where none help
        raise
    except Exception as error:  # noqa: BLE001 raised again below, without foreign words
        log.error("failed", error=error)  # noqa: TRY400 frames, but no foreign words
        own = [cause for cause in behind(error) if isinstance(cause, RadarstreamError)]
        if own:
            raise own[0] from None
        raise JobFailedError(f"{named(error)}; the log says where") from None
    log.info("stopped", state="asked to" if stop() else "drained")


def warm_up(models: Models, health: Health) -> None:
    """Load the models before the first snapshot; one that does not answer is no reason to stop."""
    prompt = build_prompt(Task.ATOMIC_ANSWER, "What is this?", ["This is a test."])
    try:
        models.generator.complete([prompt])
        models.relations.probabilities([AnswerPair("What is this?", "a test", "an exam")])
    except ModelError:
        log.warning("a model does not answer yet", exc_info=True)
    else:
        health.passed("models")


def park(engine: Engine, record: RawRecord, refusal: InputError) -> DeadLetter:
    """Make a record a dead letter in the outbox."""
    letter = dead_letter(record, refusal)
    append(engine, [outbox_record(letter, lane=place(record).partition)])
    return letter


def event_time_of(settings: Settings) -> Callable[[RawRecord], float | None]:
    """Return what reads a record's event time in seconds; None for one that cannot be decoded."""
    limits = settings.limits.as_limits()

    def event_time(record: RawRecord) -> float | None:
        try:
            snapshot = decode_record(record, limits=limits, now=datetime.now(UTC))
        except InputError:
            return None
        return snapshot.observed_at.timestamp()

    return event_time
