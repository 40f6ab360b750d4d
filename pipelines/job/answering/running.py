"""Builds the continuous job from its settings, and runs it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import structlog
from sqlalchemy import Engine

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topic_reader import OffsetReader
from radarstream.connectors.state_table.database.groups import insist_on_offsets, note_offsets
from radarstream.connectors.state_table.queries.outbox import append, depth, publish_outbox
from radarstream.pipelines.beam.folding import Outcome
from radarstream.pipelines.beam.graph import MicroBatch
from radarstream.pipelines.beam.holding import hold_back, place
from radarstream.pipelines.build import probe_service, shared_pipeline, warm_up
from radarstream.pipelines.job.answering.driver import Driver
from radarstream.pipelines.job.failures import behind, named
from radarstream.pipelines.job.stopping import AskedToStopError, Stop
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.job.telemetry.metrics import JobMetrics
from radarstream.pipelines.job.telemetry.observing import REFRESH_S, BatchProgress, Lag, Observer
from radarstream.pipelines.job.telemetry.readings import ModelMetrics
from radarstream.pipelines.job.waiting import open_database, repeating, starting, watched_state
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas import errors
from radarstream.schemas.codec import dead_letter, outbox_record
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.records import RawRecord

# Errors whose message is enough: the caller prints it, and a traceback would not help.
PLAIN: Final = (errors.BrokerError, errors.ConfigurationError, errors.DatabaseUnavailableError)

log = structlog.get_logger("radarstream")


@contextmanager
def opened_job(
    settings: Settings, stop: Stop, *, start_over: bool = False, patient: bool = True
) -> Iterator[Driver]:
    """Connect to all services and yield a driver that is ready to run.

    If `patient`, wait for a database or a broker that does not answer. Raises AskedToStopError and
    ConfigurationError, also if the database does not know the group's offsets, unless `start_over`.
    """
    metrics, kafka = JobMetrics(), settings.kafka
    with ExitStack() as opened:
        start = starting(settings, stop, metrics.registry, patient=patient)
        waiting = opened.enter_context(start)
        health = waiting.health
        probe_service(settings)  # fails early for a refused key or an unknown model
        engine = open_database(settings, waiting, kafka.group, start_over=start_over)
        guard = opened.enter_context(observed(shared_pipeline(settings), metrics, health))
        state = opened.enter_context(
            watched_state(settings, waiting, kafka.group, start_over=start_over)
        )
        lag = opened.enter_context(known_lag(kafka, metrics))
        snapshots = opened.enter_context(opened_log(settings, engine))
        sink = opened.enter_context(KafkaSink(kafka))
        with health.busy("warm up"):
            load(guard.models, health)
        progress = BatchProgress(log, guard.meter, guard.models.generator)
        opened.enter_context(repeating("progress", progress.tell, 1.0))
        micro_batch = MicroBatch(settings)

        def batch(records: Sequence[RawRecord]) -> list[Outcome]:
            state.insist()
            return micro_batch(records)

        def publish(lanes: frozenset[int]) -> int:
            state.insist()  # an idle job runs no batch that would check it
            return publish_outbox(engine, sink, lanes=lanes)

        yield Driver(
            log=snapshots,
            batch=progress.of(batch),
            publish=publish,
            park=lambda record, refusal: park(engine, record, refusal),
            holding=hold_back(settings),
            clock=stop.clock,
            observer=Observer(log, metrics, health, lambda: depth(engine), lag, kafka.group),
            settings=settings.job,
            stopping=stop,
        )


def opened_log(settings: Settings, engine: Engine) -> KafkaLog:
    """The topic of snapshots, read from the group's offsets, which the database must know."""
    return KafkaLog(
        settings.kafka,
        membership=settings.job.membership,
        partitions=settings.job.partitions,
        note=partial(note_offsets, engine, settings.kafka.group),
        insist=partial(insist_on_offsets, engine, settings.kafka.group),
    )


@contextmanager
def observed(
    guard: DefensePipeline[Any], metrics: JobMetrics, health: Health
) -> Iterator[DefensePipeline[Any]]:
    """Count the models and stages of the process's pipeline while the job runs."""
    metrics.registry.register(ModelMetrics.of(guard.models))
    own = (metrics.stage, health.busy)
    guard.meter.observers += own
    try:
        yield guard
    finally:
        for observer in own:
            guard.meter.observers.remove(observer)


@contextmanager
def known_lag(kafka: KafkaOptions, metrics: JobMetrics) -> Iterator[Lag]:
    """Yield the consumer lag, refreshed in a thread and exported."""
    offsets = OffsetReader(kafka, group=kafka.group)
    lag = Lag(offsets.read)
    metrics.registry.register(lag)
    with repeating("lag", lag.refresh, REFRESH_S, at_end=offsets.close):
        yield lag


def run_job(settings: Settings, *, drain: bool = False, start_over: bool = False) -> None:
    """Run the job until SIGTERM, or until the topic is drained. Raises the project's errors, and
    JobFailedError for those of libraries, whose messages may contain data.
    """
    configure_logging(settings.telemetry)
    stop, started = Stop(), False
    stop.install()
    try:
        with opened_job(settings, stop, start_over=start_over, patient=not drain) as driver:
            started = True
            driver.run(drain=drain)
    except AskedToStopError:
        pass  # nothing had started
    except PLAIN as error:
        if started:  # for a job that ran for hours, the log must say it too
            log.error("failed", failure=named(error))  # noqa: TRY400 no frames where none help
        raise
    except Exception as error:  # noqa: BLE001 raised again below, without a library's message
        log.error("failed", error=error)  # noqa: TRY400 frames, but not the message
        own = [cause for cause in behind(error) if isinstance(cause, errors.RadarstreamError)]
        if own:
            raise own[0] from None
        raise errors.JobFailedError(f"{named(error)}; the log says where") from None
    log.info("stopped", state="asked to" if stop() else "drained")


def load(models: Models, health: Health) -> None:
    """Load the models before the first snapshot; only log if one does not answer."""
    try:
        warm_up(models, ("generator", "relations"))
    except errors.ModelError:
        log.warning("a model does not answer yet", exc_info=True)
    else:
        health.passed("models")


def park(engine: Engine, record: RawRecord, refusal: errors.InputError) -> DeadLetter:
    """Make a record a dead letter in the outbox."""
    letter = dead_letter(record, refusal)
    append(engine, [outbox_record(letter, lane=place(record).partition)])
    return letter
