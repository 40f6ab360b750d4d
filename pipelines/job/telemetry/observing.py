"""Tells logs, metrics and health what the driver does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from radarstream.pipelines.job.answering.dead_letters import query_of
from radarstream.pipelines.job.telemetry.health import Health
from radarstream.pipelines.job.telemetry.lag import Lag
from radarstream.pipelines.job.telemetry.metrics import JobMetrics
from radarstream.schemas.codec import envelope
from radarstream.schemas.errors import BrokerError, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import RawRecord

WAITING_S = 10.0  # without partitions: say so this often
AHEAD_S = 60.0  # with records ahead of the clock: say so this often


@dataclass
class Observer:
    """Fits `JobObserver`. `outbox_depth` counts the unsent events; `log` is a structlog logger.

    `group` is the consumer group in the log's words about partitions.
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
    told: float = field(init=False)  # when that was last logged
    told_ahead: float = float("-inf")  # when it was last logged that a clock is wrong

    def __post_init__(self) -> None:
        self.since = self.told = self.now()

    def polled(self, records: Sequence[RawRecord]) -> None:
        """Count what was read."""
        self.health.tick()
        self.health.passed("broker")
        self.metrics.polled(records)
        self.lag.polled(records)

    def assigned(self, partitions: frozenset[int]) -> None:
        """Log partitions that come and go, and waiting for them."""
        self.metrics.assigned(len(partitions))
        self.lag.assigned(partitions)
        self.health.passed("partitions", bool(partitions))
        now = self.now()
        if partitions != self.partitions:
            if not self.partitions:
                self.log.info("running", state="ready")
            self.log.info("partitions_assigned", group=self.group, partitions=sorted(partitions))
            self.partitions, self.since, self.told = partitions, now, now
        elif not partitions and now - self.told >= WAITING_S:
            waited = round(now - self.since)
            self.log.warning("waiting_for_partitions", group=self.group, seconds=waited)
            self.told = now

    def held_back(self, count: int, ahead: int, lead_s: float) -> None:
        """Show how much waits; log now and then that a clock is wrong."""
        self.metrics.held_back(count, ahead)
        now = self.now()
        if ahead and now - self.told_ahead >= AHEAD_S:
            self.log.warning("ahead_of_clock", records=ahead, seconds=round(lead_s))
            self.told_ahead = now

    def took(self, stage: str, seconds: float, records: int = 0) -> None:
        """Time a stage."""
        self.health.tick()
        if stage == "batch":
            self.metrics.batch_seconds(seconds, records)
        else:
            self.metrics.stage_seconds(stage, seconds)

    def published(self, count: int) -> None:
        """Count what was published, and what waits."""
        self.health.passed("database")
        self.metrics.published(count)
        try:
            self.metrics.outbox_depth(self.outbox_depth())
        except SQLAlchemyError as error:  # a figure is no reason to stop: the next stage waits
            self.retried("outbox depth", error)

    def committed(self, next_offsets: Mapping[int, int]) -> None:
        """Note the commit, or that nothing is left to do."""
        if not next_offsets:
            if self.lag.all_read():
                self.metrics.up_to_date()
            return
        self.metrics.committed()
        self.lag.committed(next_offsets)
        for partition, offset in next_offsets.items():
            self.log.debug("committed", partition=partition, offset=offset)

    def outcomes(self, outcomes: Sequence[AnswerEvent | DeadLetter], now: datetime) -> None:
        """Count and log every answer and dead letter."""
        self.metrics.outcomes(outcomes, now)
        if any(isinstance(outcome, AnswerEvent) for outcome in outcomes):
            self.health.passed("models")
        elif any(is_model_outage(o) for o in outcomes):
            self.health.passed("models", False)
        for outcome in outcomes:
            if isinstance(outcome, AnswerEvent):
                self.answered(outcome)
            else:
                self.log.warning(
                    "dead_letter",
                    letter_id=envelope(outcome).id,
                    query_id=query_of(outcome),
                    reason=outcome.reason.value,
                    disposition=outcome.disposition,
                    source=outcome.source,
                    position=outcome.position,
                )

    def answered(self, event: AnswerEvent) -> None:
        """Log one answer, without a word of it."""
        kept = len(event.verdict.kept_ranks)
        self.log.info(
            "answered",
            query_id=event.query_id,
            step=event.step,
            snapshot_id=event.snapshot_id,
            kept=kept,
            rejected=len(event.verdict.documents) - kept,
            memory=event.verdict.memory.decision.value,
            changed=event.changed,
            abstained=event.abstention is not None,
        )

    def retried(self, stage: str, error: BaseException) -> None:
        """Count and log a failure that may heal."""
        self.health.tick()
        self.health.passed("broker" if isinstance(error, BrokerError) else "database", False)
        self.metrics.retried(stage, type(error).__name__)
        self.log.warning("trying again", stage=stage, error=error)

    def broken(self, record: RawRecord, error: BaseException) -> None:
        """Log a defect of ours, to be reported."""
        self.log.error(
            "a record breaks the graph",
            source=record.source,
            position=record.position,
            error=error,
        )


def is_model_outage(outcome: AnswerEvent | DeadLetter) -> bool:
    """Whether no model answered for a record; a clock or a damaged row is an outage of its own."""
    return isinstance(outcome, DeadLetter) and outcome.reason is ReasonClass.MODEL_UNAVAILABLE
