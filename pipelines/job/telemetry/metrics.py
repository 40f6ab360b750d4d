"""What the continuous job counts, for Prometheus."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Final, assert_never

from radarstream.pipelines.job.telemetry.registry import MINUTE, Registry
from radarstream.schemas.errors import OUTAGES, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.verdict import MemoryDecision, Reason

HOUR, DAY = 3_600.0, 86_400.0
AGES = (
    *(1, 5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR),
    *(DAY, 7 * DAY, 30 * DAY, 365 * DAY),
)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
BATCH, PUBLISH, COMMIT = "batch", "publish", "commit"  # beside the stages of the guard's meter
OUTCOMES = ("changed", "unchanged", "first", "abstained")
REJECTED: Final = (Reason.CUT, Reason.ISOLATED, Reason.DISTRUSTED, Reason.UNINFORMATIVE)
KEPT: Final = (Reason.SUPPORTED, Reason.BEST_OF_NONE, Reason.NOT_JUDGED)


class JobMetrics(Registry):
    """The driver's metrics. Every method is cheap and never raises."""

    def __init__(self) -> None:
        super().__init__()
        self._assigned = self.gauge(
            "radarstream_assigned_partitions", "Partitions that this worker reads"
        )
        self._polled = self.counter("radarstream_records_polled_total", "Snapshot records read")
        self._polled_bytes = self.counter(
            "radarstream_polled_bytes_total", "Bytes of snapshot records read"
        )
        self._held_back = self.gauge(
            "radarstream_held_back_records",
            "Records polled and waiting for older ones of their query",
        )
        self._ahead = self.gauge(
            "radarstream_ahead_of_clock_records",
            "Records polled whose event time this machine's clock has yet to come near",
        )
        self._batch_size = self.histogram(
            "radarstream_batch_records", "Records in a batch", buckets=SIZES
        )
        self._stage = self.histogram(
            "radarstream_stage_duration_seconds",
            "Wall-clock time of one run of a stage",
            ["stage"],
            known=[[BATCH], [PUBLISH], [COMMIT]],
        )
        self._published = self.counter(
            "radarstream_events_published_total", "Events that the broker took"
        )
        self._outbox = self.gauge("radarstream_outbox_records", "Events waiting to be published")
        self._commits = self.counter("radarstream_commits_total", "Commits of offsets")
        self._progress = self.clock(
            "radarstream_last_commit_timestamp_seconds",
            "When offsets were last committed, or everything was read and nothing was to be"
            " committed; the start of the job before the first time",
        )
        self._retries = self.counter(
            "radarstream_retries_total",
            "Failures after which the job tried again",
            ["operation", "error"],
        )
        self._decisions = Decisions(self)

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

    def __init__(self, registry: Registry) -> None:
        self._ages = registry.histogram(
            "radarstream_snapshot_age_seconds",
            "From the event time of a snapshot to its answer",
            ["provenance"],
            known=[[Provenance.LIVE.value]],
            buckets=AGES,
        )
        self._answers = registry.counter(
            "radarstream_answers_total",
            "Defended answers, by how they compare with the previous one",
            ["outcome"],
            known=[[outcome] for outcome in OUTCOMES],
        )
        self._documents = registry.counter(
            "radarstream_documents_total",
            "Documents judged",
            ["decision", "reason"],
            known=[
                *(["rejected", reason.value] for reason in REJECTED),
                *(["kept", reason.value] for reason in KEPT),
            ],
        )
        self._memory = registry.counter(
            "radarstream_memory_decisions_total",
            "What became of the previous answers",
            ["decision"],
            known=[[decision.value] for decision in MemoryDecision],
        )
        self._dead = registry.counter(
            "radarstream_dead_letters_total",
            "Records that led to no answer",
            ["reason", "disposition"],
            known=[[why.value, "outage" if why in OUTAGES else "poison"] for why in ReasonClass],
        )

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
