"""Reports the driver's work and a long batch's progress to logs, metrics and health."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from radarstream.connectors.kafka.topic_reader import Offsets
from radarstream.pipelines.beam.folding import Batch, Outcome
from radarstream.pipelines.job.answering.dead_letters import query_of
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.job.telemetry.metrics import JobMetrics
from radarstream.pipelines.job.telemetry.readings import read
from radarstream.pipelines.signals.metering import Meter
from radarstream.schemas.codec import envelope
from radarstream.schemas.errors import BrokerError, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import RawRecord

REFRESH_S = 5.0


@dataclass(eq=False)
class Lag(Collector):
    """The consumer lag of this worker's partitions, thread-safe. `offsets` asks the broker;
    `read_to` is the first unpolled offset by partition.
    """

    offsets: Callable[[], Mapping[int, Offsets]]
    known: Mapping[int, Offsets] = field(default_factory=dict)
    partitions: frozenset[int] = frozenset()
    read_to: dict[int, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def refresh(self) -> None:
        """Ask the broker. Raises BrokerError, ConfigurationError, and keeps the last values."""
        known = self.offsets()
        with self.lock:
            self.known = known

    def assigned(self, partitions: frozenset[int]) -> None:
        """Note the partitions that are assigned to this worker."""
        with self.lock:
            self.partitions = partitions

    def polled(self, records: Iterable[RawRecord]) -> None:
        """Note the offsets of polled records."""
        with self.lock:
            for record in records:
                if record.log is not None:
                    self.read_to[record.log.partition] = record.log.offset + 1

    def committed(self, next_offsets: Mapping[int, int]) -> None:
        """Note a commit, until the broker is asked again."""
        with self.lock:
            moved = {p: offset for p, offset in next_offsets.items() if p in self.known}
            self.known = dict(self.known) | {
                p: replace(self.known[p], committed=offset) for p, offset in moved.items()
            }

    def all_read(self) -> bool:
        """Whether this worker polled all known records of its partitions."""
        with self.lock:
            return self.partitions <= self.known.keys() and all(
                self.read_to.get(p, 0) >= self.known[p].end or not self.known[p].lag
                for p in self.partitions
            )

    def collect(self) -> Iterator[Metric]:
        """Export the known lag of the partitions."""
        with self.lock:
            known = sorted(self.partitions & self.known.keys())
            lags = [([str(p)], self.known[p].lag) for p in known]
        text = "Records between what the group has committed and the end of the partition"
        yield read(GaugeMetricFamily, "consumer_lag_records", text, ["partition"], lags)


WAITING_S = 10.0  # interval of log lines while no partition is assigned
PROGRESS_S = 10.0


@dataclass
class Observer:
    """Reports the driver's work; never raises. `outbox_depth` counts unsent events, `log` is
    structlog's, `group` is the consumer group.
    """

    log: Any
    metrics: JobMetrics
    health: Health
    outbox_depth: Callable[[], int]
    lag: Lag
    group: str = ""
    now: Callable[[], float] = monotonic
    partitions: frozenset[int] = frozenset()
    since: float = field(init=False)  # when the partitions were lost, or the start
    logged_at: float = field(init=False)  # when that was last logged

    def __post_init__(self) -> None:
        self.since = self.logged_at = self.now()

    def polled(self, records: Sequence[RawRecord]) -> None:
        """Count the polled records; also the loop's sign of life."""
        self.health.tick()
        self.health.passed("broker")
        self.metrics.polled.inc(len(records))
        self.metrics.polled_bytes.inc(sum(len(record.payload) for record in records))
        self.lag.polled(records)

    def assigned(self, partitions: frozenset[int]) -> None:
        """Log changed partitions, and waiting for them; called after every poll."""
        self.metrics.assigned.set(len(partitions))
        self.lag.assigned(partitions)
        self.health.passed("partitions", bool(partitions))
        now = self.now()
        if partitions != self.partitions:
            if not self.partitions:
                self.log.info("running", state="ready")
            self.log.info("partitions_assigned", group=self.group, partitions=sorted(partitions))
            self.partitions, self.since, self.logged_at = partitions, now, now
        elif not partitions and now - self.logged_at >= WAITING_S:
            waited = round(now - self.since)
            self.log.warning("waiting_for_partitions", group=self.group, seconds=waited)
            self.logged_at = now

    def held_back(self, count: int) -> None:
        """Export the number of records that wait for older ones."""
        self.metrics.held_back.set(count)

    def took(self, stage: str, seconds: float, records: int = 0) -> None:
        """Record the duration of a successful "batch" (with its records), "publish" or "commit"."""
        self.health.tick()
        self.metrics.stages.labels(stage).observe(seconds)
        if stage == "batch":
            self.metrics.batch.observe(records)

    def published(self, count: int) -> None:
        """Count the published events and those that wait."""
        self.health.passed("database")
        self.metrics.published.inc(count)
        try:
            self.metrics.outbox.set(self.outbox_depth())
        except SQLAlchemyError as error:  # only a metric: the next stage waits for the database
            self.retried("outbox depth", error)

    def committed(self, next_offsets: Mapping[int, int]) -> None:
        """Note the commit of these offsets, or that there was nothing to commit."""
        if not next_offsets:
            if self.lag.all_read():
                self.metrics.up_to_date.set_to_current_time()
            return
        self.metrics.commits.inc()
        self.metrics.up_to_date.set_to_current_time()
        self.lag.committed(next_offsets)
        for partition, offset in next_offsets.items():
            self.log.debug("committed", partition=partition, offset=offset)

    def outcomes(self, outcomes: Sequence[Outcome], now: datetime) -> None:
        """Count and log every answer and dead letter of a batch whose events were published."""
        self.metrics.outcomes(outcomes, now)
        if any(isinstance(outcome, AnswerEvent) for outcome in outcomes):
            self.health.passed("models")
        elif any(
            o.reason is ReasonClass.MODEL_UNAVAILABLE for o in outcomes if isinstance(o, DeadLetter)
        ):
            self.health.passed("models", False)  # other outages, as of a clock, are no model's
        for outcome in outcomes:
            if isinstance(outcome, AnswerEvent):
                self.answered(outcome)
            else:
                self.parked(outcome)

    def answered(self, event: AnswerEvent) -> None:
        """Log one answer without its text."""
        kept = len(event.verdict.kept_ranks)
        self.log.info(
            "answered",
            query_id=event.query_id,
            step=event.step,
            snapshot_id=event.snapshot_id,
            kept=kept,
            rejected=len(event.seen) - kept,
            left_out=len(event.verdict.documents) - len(event.seen),
            memory=event.verdict.memory.decision.value,
            changed=event.changed,
            abstained=event.abstention is not None,
            status=event.status,
        )

    def parked(self, letter: DeadLetter) -> None:
        """Log one dead letter."""
        self.log.warning(
            "dead_letter",
            letter_id=envelope(letter).id,
            query_id=query_of(letter),
            reason=letter.reason.value,
            disposition=letter.disposition,
            source=letter.source,
            position=letter.position,
        )

    def retried(self, stage: str, error: BaseException) -> None:
        """Count and log a transient failure."""
        self.health.tick()
        self.health.passed("broker" if isinstance(error, BrokerError) else "database", False)
        self.metrics.retries.labels(stage, type(error).__name__).inc()
        self.log.warning("trying again", stage=stage, error=error)

    def broken(self, record: RawRecord, error: BaseException) -> None:
        """Log a defect of the project."""
        self.log.error(
            "a record breaks the graph", source=record.source, position=record.position, error=error
        )


@dataclass
class BatchProgress:
    """Logs the current batch's progress every `every_s` seconds. `generator` may count its calls.
    Another thread calls `tell`, more often than that.
    """

    log: Any
    meter: Meter
    generator: object
    every_s: float = PROGRESS_S
    now: Callable[[], float] = monotonic
    # of the current batch: records, start, and the counts of stages and generator at the start
    running: tuple[int, float, Mapping[str, int]] | None = field(default=None, init=False)
    logged: float = field(default=0.0, init=False)

    def of(self, batch: Batch) -> Batch:
        """Wrap the batch so that its progress is logged."""

        def watched(records: Sequence[RawRecord]) -> list[Outcome]:
            self.logged = self.now()
            self.running = len(records), self.logged, self._done()
            try:
                return batch(records)
            finally:
                self.running = None

        return watched

    def tell(self) -> None:
        """Log the current batch's progress if the interval has passed."""
        running, now = self.running, self.now()
        if running is None or now - self.logged < self.every_s:
            return
        self.logged = now
        records, started, before = running
        stage = self.meter.current
        since = {name: count - before.get(name, 0) for name, count in self._done().items()}
        self.log.info(
            "batch_running",
            records=records,
            stage=stage,
            done=since.get(stage, 0),
            model_answers=since["model answers"],
            model_calls=since["model calls"],
            seconds=round(now - started, 1),
        )

    def _done(self) -> dict[str, int]:
        """Number of records by stage, and the generator's counts."""
        return self.meter.records_done() | {
            "model answers": int(getattr(self.generator, "answered", 0)),
            "model calls": int(getattr(self.generator, "calls", 0)),
        }
