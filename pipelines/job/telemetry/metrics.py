"""Prometheus metrics of all processes: `radarstream_…`, in base units. Label values come from
closed sets, never from names, ids or texts, so the number of series is bounded.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from importlib.metadata import version
from platform import python_version
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector

from radarstream.connectors.search.paged import SearchCounts
from radarstream.pipelines.job.telemetry import readings
from radarstream.schemas.attribution import Finding
from radarstream.schemas.errors import OUTAGES, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.incidents import Status, TaughtEvent
from radarstream.schemas.orchestration import Module, RiskLevel
from radarstream.schemas.snapshot import Provenance, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import MemoryDecision, Reason

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
DURATIONS: Final = (
    *(0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    *(MINUTE, 3 * MINUTE, 10 * MINUTE),
)
AGES: Final = (
    *(1, 5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR),
    *(DAY, 7 * DAY, 30 * DAY, 365 * DAY),
)
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
STAGES: Final = ("batch", "publish", "commit")  # beside those of the guard's meter
OUTCOMES: Final = ("changed", "unchanged", "first", "abstained")
REJECTED: Final = (Reason.CUT, Reason.ISOLATED, Reason.UNINFORMATIVE, Reason.NOT_IN_TEXT)
INTAKE: Final = ("taken_in", "refused", "unreadable")
REFUSED: Final = ("busy", "host", "size", "slow")  # requests
OVERHEAD: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
KEPT: Final = (Reason.SUPPORTED, Reason.BEST_OF_NONE, Reason.NOT_JUDGED)
FamilyT = TypeVar("FamilyT", Counter, Gauge, Histogram)


def build() -> dict[str, str]:
    """Return the running versions, by name."""
    return {"version": version("radarstream"), "python": python_version()}


class Metrics:
    """The metrics of every process: the build, the process, and the families added here."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        Info("build", "What is running", namespace=readings.NAMESPACE, registry=self.registry).info(
            build()
        )
        ProcessCollector(registry=self.registry)

    def add(
        self,
        kind: type[FamilyT],
        name: str,
        text: str,
        label: str | tuple[str, ...] = (),
        known: Iterable[Any] = (),
        **options: Any,
    ) -> FamilyT:
        """Make a family, histograms in seconds by default. Series of the `known` label values start
        at zero, so that rates see their first event.
        """
        if kind is Histogram:
            options = {"buckets": DURATIONS} | options
        labels = (label,) if isinstance(label, str) else label
        family = kind(name, text, labels, readings.NAMESPACE, registry=self.registry, **options)
        for values in known:
            family.labels(*((values,) if isinstance(values, str) else values))
        return family

    def add_clock(self, name: str, text: str) -> Gauge:
        """Add the time of an event's last occurrence, at first the current time."""
        gauge = self.add(Gauge, name, text)
        gauge.set_to_current_time()
        return gauge


class JobMetrics(Metrics):
    """The metrics of the job."""

    def __init__(self) -> None:
        super().__init__()
        add = self.add
        self.assigned = add(Gauge, "assigned_partitions", "Partitions that this worker reads")
        self.polled = add(Counter, "records_polled", "Snapshot records read")
        self.polled_bytes = add(Counter, "polled_bytes", "Bytes of snapshot records read")
        text = "Records polled and waiting for older ones of their query"
        self.held_back = add(Gauge, "held_back_records", text)
        self.batch = add(Histogram, "batch_records", "Records in a batch", buckets=SIZES)
        text = "Wall-clock time of one run of a stage"
        self.stages = add(Histogram, "stage_duration_seconds", text, "stage", STAGES)
        self.published = add(Counter, "events_published", "Events that the broker took")
        self.outbox = add(Gauge, "outbox_records", "Events waiting to be published")
        self.commits = add(Counter, "commits", "Commits of offsets")
        self.up_to_date = self.add_clock(
            "last_commit_timestamp_seconds",
            "When offsets were last committed, or everything was read and nothing was to be"
            " committed; the start of the job before the first time",
        )
        text = "Failures after which the job tried again"
        self.retries = add(Counter, "retries", text, ("operation", "error"))
        text, live = "From the event time of a snapshot to its answer", [Provenance.LIVE.value]
        self.ages = add(Histogram, "snapshot_age_seconds", text, "provenance", live, buckets=AGES)
        text = "Defended answers, by how they compare with the previous one"
        self.answers = add(Counter, "answers", text, "outcome", OUTCOMES)
        text = "Answers by what they rest on"
        self.statuses = add(Counter, "answer_statuses", text, "status", AnswerStatus)
        text = "Answers that wanted more documents than there were"
        self.wanting = add(Counter, "answers_wanting_more", text)
        judged = [("rejected", reason.value) for reason in REJECTED]
        judged += [("kept", reason.value) for reason in KEPT]
        labels = ("decision", "reason")
        self.documents = add(Counter, "documents", "Documents judged", labels, judged)
        text, decisions = "What became of the previous answers", MemoryDecision
        self.memory = add(Counter, "memory_decisions", text, "decision", decisions)
        dead = [(why.value, "outage" if why in OUTAGES else "poison") for why in ReasonClass]
        text, labels = "Records that led to no answer", ("reason", "disposition")
        self.dead = add(Counter, "dead_letters", text, labels, dead)

    def stage(self, name: str) -> AbstractContextManager[Any]:
        """Time the enclosed work as a stage; one of a Meter's `observers`."""
        return self.stages.labels(name).time()

    def outcomes(self, outcomes: Iterable[AnswerEvent | DeadLetter], now: datetime) -> None:
        """Count snapshots answered or made dead letters at the wall-clock time `now`."""
        for outcome in outcomes:
            if isinstance(outcome, DeadLetter):
                self.dead.labels(outcome.reason.value, outcome.disposition).inc()
                continue
            age = max(0.0, (now - outcome.observed_at).total_seconds())
            self.ages.labels(outcome.provenance.value).observe(age)
            self.answers.labels(outcome_of(outcome)).inc()
            self.statuses.labels(outcome.status.value).inc()
            self.wanting.inc(outcome.wanted_more)
            self.memory.labels(outcome.verdict.memory.decision.value).inc()
            for document in outcome.verdict.documents:
                decision = "kept" if document.kept else "rejected"
                self.documents.labels(decision, document.reason.value).inc()


def outcome_of(event: AnswerEvent) -> str:
    """Return one of OUTCOMES; "first" if there is no answer to compare with."""
    if event.abstention is not None:
        return "abstained"
    if event.changed is None:
        return "first"
    return "changed" if event.changed else "unchanged"


class CollectingMetrics(Metrics):
    """The metrics of `radarstream watch`, with the `counts` of its search client."""

    def __init__(self, counts: SearchCounts) -> None:
        super().__init__()
        add = self.add
        self.failures = add(Counter, "search_failures", "Searches that gave no snapshot", "failure")
        text = "Wall-clock time of one search with all its pages"
        self.seconds = add(Histogram, "search_duration_seconds", text)
        text = "Snapshots published, and whether all that was asked for was there"
        known = ("complete", "partial")
        self.snapshots = add(Counter, "snapshots_collected", text, "completeness", known)
        self.documents = add(Counter, "documents_collected", "Documents published")
        text = "Fetches that searched further since the last answer was not settled"
        self.deeper = add(Counter, "deeper_fetches", text)
        self.budget = add(Gauge, "search_credits_budget", "Credits that a month may cost")
        self.used = add(Gauge, "search_credits_used", "Credits spent this month")
        self.watched = add(Gauge, "watched_queries", "Queries on the watchlist")
        self.overdue = add(Gauge, "overdue_queries", "Queries whose time has come")
        self.progress = self.add_clock(
            "last_collected_timestamp_seconds",
            "When a snapshot was last published; the start before the first one",
        )
        self.registry.register(readings.SearchMetrics(counts))

    def collected(self, snapshot: SearchSnapshot) -> None:
        """Count a snapshot that was published."""
        partial = snapshot.retrieval is not None and snapshot.retrieval.partial
        self.snapshots.labels("partial" if partial else "complete").inc()
        self.documents.inc(len(snapshot.documents))
        self.progress.set_to_current_time()


class AttributingMetrics(Metrics):
    """The metrics of `radarstream attribute`; `stored` reads the backlog in the database."""

    def __init__(
        self, stored: Callable[[], readings.Backlog], registry: CollectorRegistry | None = None
    ) -> None:
        super().__init__(registry)
        add = self.add
        text = "Complaints read from their topic, by what became of them"
        self.intake = add(Counter, "complaints", text, "result", INTAKE)
        text, known = "Wrong answers that were attributed", (*Finding, "unverified")
        self.attributions = add(Counter, "attributions", text, "finding", known)
        text = "Incidents that were settled, by their status afterwards"
        self.incidents = add(Counter, "incidents_settled", text, "status", Status)
        text = "Attributions that failed and are tried again, or not"
        self.failures = add(Counter, "attribution_failures", text, "error")
        text = "Wall-clock time of one attribution"
        self.seconds = add(Histogram, "attribution_duration_seconds", text)
        self.registry.register(readings.BacklogMetrics(stored))

    def settled(self, event: TaughtEvent, seconds: float | None) -> None:
        """Count an incident that was settled, and its attribution if models were asked."""
        self.incidents.labels(event.status.value).inc()
        if seconds is not None:
            self.attributions.labels(event.finding.value if event.finding else "unverified").inc()
            self.seconds.observe(seconds)

    def failed(self, error: str) -> None:
        """Count an attribution that failed with this class of error."""
        self.failures.labels(error).inc()


class ServingMetrics(Metrics):
    """The metrics of `radarstream serve`."""

    def __init__(self) -> None:
        super().__init__()
        add = self.add
        text = "Requests, by route and status"
        self.requests = add(Counter, "http_requests", text, ("route", "status"))
        text, name = "From a request to the end of its response", "http_request_duration_seconds"
        self.durations = add(Histogram, name, text, "route", buckets=OVERHEAD)
        self.in_hand = add(Gauge, "http_requests_in_hand", "Requests that are handled now")
        text = "Requests refused before a route saw them, by reason"
        self.refused = add(Counter, "http_requests_refused", text, "reason", REFUSED)
        text = "Replies to questions, by what the answer rests on"
        self.replies = add(Counter, "replies", text, "status", AnswerStatus)
        text = "Result pages that replies were made of"
        self.result_pages = add(Counter, "reply_result_pages", text)
        text = "Replies that wanted more documents than there were"
        self.wanting = add(Counter, "replies_wanting_more", text)
        self.asking = add(Histogram, "question_duration_seconds", "From a question to its reply")
        text = "Questions without a reply, by kind of error"
        self.failures = add(Counter, "question_failures", text, "code")
        text = "Questions by the Sentinel's last level"
        self.risks = add(Counter, "question_risks", text, "level", RiskLevel)
        text = "Questions that a module acted on"
        self.modules = add(Counter, "question_modules", text, "module", Module)
