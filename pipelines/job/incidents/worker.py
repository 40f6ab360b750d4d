"""The worker around deep attribution: reads complaints, attributes, publishes events, in a loop."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from time import monotonic

import structlog
from prometheus_client import CollectorRegistry

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topic_reader import TopicReader, TopicRecord
from radarstream.connectors.state_table.database.groups import note_offsets
from radarstream.connectors.state_table.incidents.complaints import counts
from radarstream.connectors.state_table.incidents.quarantine import count_active
from radarstream.connectors.state_table.queries.outbox import Sink, publish_outbox
from radarstream.pipelines import build
from radarstream.pipelines.job.failures import kind_of
from radarstream.pipelines.job.incidents.attributing import Attributing
from radarstream.pipelines.job.incidents.intake import RefusedComplaintError, take_in
from radarstream.pipelines.job.incidents.settling import LANE
from radarstream.pipelines.job.stopping import AskedToStopError, Stop
from radarstream.pipelines.job.telemetry.endpoint import Check, Health
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.job.telemetry.metrics import AttributingMetrics
from radarstream.pipelines.job.telemetry.readings import ModelMetrics
from radarstream.pipelines.job.waiting import StateWatch, open_database, starting, watched_state
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.schemas.codec import decode_complaint
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.errors import BrokerError, InputError, ModelOutageError
from radarstream.schemas.incidents import Complaint

COMPLAINTS = WIRE_SCHEMAS[Complaint].topic
PRUNE_S = 3_600.0
PAUSE_S = 5.0  # before a service that did not answer is tried again

log = structlog.get_logger("radarstream")


@dataclass
class Worker:
    """Takes complaints, attributes, publishes. `log` and `sink` are None without Kafka."""

    attributing: Attributing
    settings: Settings
    health: Health
    stop: Stop
    log: TopicReader | None = None
    sink: Sink | None = None
    state: StateWatch | None = None
    pruned: float | None = field(default=None, init=False)
    idle: bool = field(default=False, init=False)  # nothing could be attributed last time

    def run(self, *, drain: bool) -> None:
        """Work until asked to stop, or with `drain` until nothing can be done. Without `drain`,
        wait for services that do not answer; with it, raise their errors.
        """
        while not self.stop():
            try:
                busy = self.turn()
            except Exception as error:
                away = isinstance(error, ModelOutageError) or kind_of(error) == "transient"
                if drain or not away:
                    raise
                if isinstance(error, BrokerError):
                    self.health.passed("broker", False)
                log.warning("trying again", error=error)
                self.attributing.clock.wait(PAUSE_S)
                continue
            if drain and not busy and (self.log is None or self.log.at_end()):
                self.attributing.budget.tell_waiting()
                break
            if not busy and self.log is None:
                self.attributing.clock.wait(self.settings.attribution.poll_s)

    def turn(self) -> bool:
        """Take complaints, attribute one, publish; return whether there was work."""
        self.health.tick()
        if self.state is not None:
            self.state.insist()
        taken = self.take_in()
        with self.health.busy("attribution"):
            worked = self.attributing.step()
        self.idle = not worked
        if self.sink is not None:
            publish_outbox(self.attributing.engine, self.sink, lanes={LANE})
        if self.pruned is None or monotonic() - self.pruned > PRUNE_S:
            self.attributing.prune()
            self.pruned = monotonic()
        return worked or taken > 0

    def take_in(self) -> int:
        """Store the topic's new complaints, then commit; return the number of records read."""
        if self.log is None:
            return 0
        waiting = self.settings.attribution.poll_s if self.idle else 0.0
        records = self.log.poll(timeout_s=waiting)
        self.health.passed("broker")
        offsets = {}
        for record in records:
            self.attributing.metrics.intake.labels(self.taken_in(record)).inc()
            offsets[record.partition] = record.offset + 1
        if offsets:
            epoch, group = self.log.epoch(), self.settings.attribution.group
            read_to = {(epoch, partition): offset for partition, offset in offsets.items()}
            note_offsets(self.attributing.engine, group, read_to)
            self.log.commit(offsets)
        return len(records)

    def taken_in(self, record: TopicRecord) -> str:
        """Store one record and return the outcome. Logs nothing of its content."""
        place = {"partition": record.partition, "offset": record.offset}
        now = self.attributing.clock.now()
        try:
            tolerance = timedelta(seconds=self.settings.job.clock_tolerance_s)
            complaint = decode_complaint(record.read(), now=now, tolerance=tolerance)
            take_in(self.attributing.engine, complaint, self.attributing.settings, now)
        except InputError as error:
            log.warning("a complaint cannot be read", reason=error.reason.value, **place)
            return "unreadable"
        except RefusedComplaintError as error:
            log.warning("a complaint was refused", reason=error.reason, **place)
            return "refused"
        return "taken_in"


@contextmanager
def opened_worker(
    settings: Settings, stop: Stop, *, kafka: bool, patient: bool = True, start_over: bool = False
) -> Iterator[Worker]:
    """Connect to all services, waiting if `patient`, and yield a worker. Raises AskedToStopError,
    and ConfigurationError, also if the attributor lacks a model, or if the database does not know
    the group's offsets, unless `start_over`.
    """
    attribution, registry, clock = settings.attribution, CollectorRegistry(), stop.clock
    archived = settings.corpus.archive and attribution.corpus_texts > 0
    attributor = build.configured_attributor(settings)
    checks: tuple[Check, ...] = ("broker", "database") if kafka else ("database",)
    with ExitStack() as opened:
        waiting = opened.enter_context(starting(settings, stop, registry, checks, patient=patient))
        if kafka:
            engine = open_database(
                settings, waiting, attribution.group, topic=COMPLAINTS, start_over=start_over
            )
        else:
            engine = waiting.until("database", lambda: build.shared_engine(settings))
        models = build.shared_pipeline(settings).models
        check_needs(attributor, models)
        metrics = AttributingMetrics(lambda: (*counts(engine), count_active(engine)), registry)
        registry.register(ModelMetrics.of(models))
        attributing = Attributing(
            engine,
            models,
            attributor,
            attribution,
            clock,
            metrics,
            build.shared_corpus(settings) if archived else None,
            settings.reading,
        )
        worker = Worker(attributing, settings, waiting.health, stop)
        if kafka:
            watching = watched_state(
                settings, waiting, attribution.group, topic=COMPLAINTS, start_over=start_over
            )
            worker.state = opened.enter_context(watching)
            reading = partial(TopicReader, settings.kafka, [COMPLAINTS], group=attribution.group)
            worker.log = opened.enter_context(waiting.until("broker", reading))
            worker.sink = opened.enter_context(KafkaSink(settings.kafka))
        yield worker


def run_attribution(
    settings: Settings, *, kafka: bool, drain: bool, start_over: bool = False
) -> None:
    """Attribute until SIGTERM, or with `drain` until nothing can be done."""
    configure_logging(settings.telemetry)
    stop = Stop()
    stop.install()
    opened = opened_worker(settings, stop, kafka=kafka, patient=not drain, start_over=start_over)
    with suppress(AskedToStopError), opened as worker:
        log.info("attributing", state="ready", kafka=kafka)
        worker.run(drain=drain)
    log.info("stopped", state="asked to" if stop() else "drained")
