"""What the continuous job counts, for Prometheus: `radarstream_…`, base units, no query ids.

Label values come from closed sets (enumerations, partitions, exception classes, stage names), so
the number of series is bounded whatever arrives. Series whose labels are known before the first
event start at zero: a rate over the first event would miss it otherwise.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any, assert_never

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
)

from radarstream.schemas.errors import OUTAGES, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.verdict import MemoryDecision, Reason

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
AGES = (
    1,
    5,
    15,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    HOUR,
    6 * HOUR,
    DAY,
    7 * DAY,
    30 * DAY,
    365 * DAY,
)
DURATIONS = (0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, MINUTE, 3 * MINUTE, 10 * MINUTE)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
BATCH, PUBLISH, COMMIT = "batch", "publish", "commit"  # beside the stages of the guard's meter
OUTCOMES = ("changed", "unchanged", "first", "abstained")


class JobMetrics:
    """The driver's metrics in a registry of their own. Every method is cheap and never raises.

    `registry` is what `/metrics` exports; others may register collectors there.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._assigned = Gauge(
            "radarstream_assigned_partitions",
            "Partitions that this worker reads",
            registry=registry,
        )
        self._polled = Counter(
            "radarstream_records_polled_total", "Snapshot records read", registry=registry
        )
        self._polled_bytes = Counter(
            "radarstream_polled_bytes_total", "Bytes of snapshot records read", registry=registry
        )
        self._held_back = Gauge(
            "radarstream_held_back_records",
            "Records polled and waiting for older ones of their query",
            registry=registry,
        )
        self._ahead = Gauge(
            "radarstream_ahead_of_clock_records",
            "Records polled whose event time this machine's clock has yet to come near",
            registry=registry,
        )
        self._batch_size = Histogram(
            "radarstream_batch_records", "Records in a batch", buckets=SIZES, registry=registry
        )
        self._stage = Histogram(
            "radarstream_stage_duration_seconds",
            "Wall-clock time of one run of a stage",
            ["stage"],
            buckets=DURATIONS,
            registry=registry,
        )
        self._published = Counter(
            "radarstream_events_published_total", "Events that the broker took", registry=registry
        )
        self._outbox = Gauge(
            "radarstream_outbox_records", "Events waiting to be published", registry=registry
        )
        self._commits = Counter(
            "radarstream_commits_total", "Commits of offsets", registry=registry
        )
        self._progress = Gauge(
            "radarstream_last_commit_timestamp_seconds",
            "When offsets were last committed, or everything was read and nothing was to be"
            " committed; the start of the job before the first time",
            registry=registry,
        )
        self._retries = Counter(
            "radarstream_retries_total",
            "Failures after which the job tried again",
            ["operation", "error"],
            registry=registry,
        )
        self._decisions = Decisions(registry)
        self._progress.set_to_current_time()
        Info("radarstream_build", "What is running", registry=registry).info(build())
        ProcessCollector(registry=registry)
        for stage in (BATCH, PUBLISH, COMMIT):
            self._stage.labels(stage)

    def polled(self, records: Sequence[RawRecord]) -> None:
        """Records came in."""
        self._polled.inc(len(records))
        self._polled_bytes.inc(sum(len(record.payload) for record in records))

    def assigned(self, count: int) -> None:
        """Tell how many partitions are this worker's at present."""
        self._assigned.set(count)

    def held_back(self, count: int, ahead: int) -> None:
        """Tell how many polled records wait at present, for older ones and for the clock."""
        self._held_back.set(count)
        self._ahead.set(ahead)

    def batch_seconds(self, seconds: float, size: int) -> None:
        """A batch of `size` records took this long."""
        self.stage_seconds(BATCH, seconds)
        self._batch_size.observe(size)

    def stage_seconds(self, stage: str, seconds: float) -> None:
        """Note how long one run of a stage took."""
        self._stage.labels(stage).observe(seconds)

    def stage(self, name: str) -> AbstractContextManager[Any]:
        """Time the enclosed work as a stage; made to be one of a Meter's `observers`."""
        return self._stage.labels(name).time()

    def outcomes(self, outcomes: Iterable[AnswerEvent | DeadLetter], now: datetime) -> None:
        """Snapshots were answered or parked at the wall-clock time `now`."""
        self._decisions.count(outcomes, now)

    def published(self, count: int) -> None:
        """The broker took `count` events."""
        self._published.inc(count)

    def outbox_depth(self, depth: int) -> None:
        """Tell how many events are unsent."""
        self._outbox.set(depth)

    def committed(self) -> None:
        """Offsets were committed."""
        self._commits.inc()
        self.up_to_date()

    def up_to_date(self) -> None:
        """Nothing is left to commit."""
        self._progress.set_to_current_time()

    def retried(self, operation: str, error: str) -> None:
        """An operation (a fixed name such as "publish") failed with this exception class."""
        self._retries.labels(operation, error).inc()


class Decisions:
    """What became of snapshots: read from the events, so that they and the metrics agree."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ages = Histogram(
            "radarstream_snapshot_age_seconds",
            "From the event time of a snapshot to its answer",
            ["provenance"],
            buckets=AGES,
            registry=registry,
        )
        self._answers = Counter(
            "radarstream_answers_total",
            "Defended answers, by how they compare with the previous one",
            ["outcome"],
            registry=registry,
        )
        self._documents = Counter(
            "radarstream_documents_total",
            "Documents judged",
            ["decision", "reason"],
            registry=registry,
        )
        self._memory = Counter(
            "radarstream_memory_decisions_total",
            "What became of the previous answers",
            ["decision"],
            registry=registry,
        )
        self._dead = Counter(
            "radarstream_dead_letters_total",
            "Records that led to no answer",
            ["reason", "disposition"],
            registry=registry,
        )
        self._start_at_zero()

    def _start_at_zero(self) -> None:
        for outcome in OUTCOMES:
            self._answers.labels(outcome)
        for decision in MemoryDecision:
            self._memory.labels(decision.value)
        for reason in (Reason.CUT, Reason.ISOLATED, Reason.DISTRUSTED, Reason.UNINFORMATIVE):
            self._documents.labels("rejected", reason.value)
        for reason in (Reason.SUPPORTED, Reason.BEST_OF_NONE, Reason.NOT_JUDGED):
            self._documents.labels("kept", reason.value)
        for why in ReasonClass:
            self._dead.labels(why.value, "outage" if why in OUTAGES else "poison")
        self._ages.labels(Provenance.LIVE.value)

    def count(self, outcomes: Iterable[AnswerEvent | DeadLetter], now: datetime) -> None:
        """Count answers and dead letters."""
        for outcome in outcomes:
            match outcome:
                case AnswerEvent():
                    self._answered(outcome, now)
                case DeadLetter():
                    self._dead.labels(outcome.reason.value, outcome.disposition).inc()
                case _:
                    assert_never(outcome)

    def _answered(self, event: AnswerEvent, now: datetime) -> None:
        age = max(0.0, (now - event.observed_at).total_seconds())
        self._ages.labels(event.provenance.value).observe(age)
        self._answers.labels(outcome_of(event)).inc()
        self._memory.labels(event.verdict.memory.decision.value).inc()
        for document in event.verdict.documents:
            decision = "kept" if document.kept else "rejected"
            self._documents.labels(decision, document.reason.value).inc()


def outcome_of(event: AnswerEvent) -> str:
    """Return one of OUTCOMES; "first" when there was no answer to compare with."""
    if event.abstention is not None:
        return "abstained"
    if event.changed is None:
        return "first"
    return "changed" if event.changed else "unchanged"


def build() -> dict[str, str]:
    """Return what is running, by name."""
    try:
        installed = version("radarstream")
    except PackageNotFoundError:
        installed = "unknown"
    return {"version": installed, "python": python_version()}
