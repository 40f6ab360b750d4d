"""What the processes of the job count, for Prometheus: `radarstream_…`, base units, no query ids.

Label values come from closed sets (enumerations, partitions, exception classes, stage names), so
the number of series is bounded whatever arrives.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import OUTAGES, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.snapshot import Provenance
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import MemoryDecision, Reason

NAMESPACE: Final = "radarstream"
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
BREAKER_STATES: Final = ("closed", "half_open", "open")
OUTCOMES: Final = ("changed", "unchanged", "first", "abstained")
REJECTED: Final = (Reason.CUT, Reason.ISOLATED, Reason.DISTRUSTED, Reason.UNINFORMATIVE)
KEPT: Final = (Reason.SUPPORTED, Reason.BEST_OF_NONE, Reason.NOT_JUDGED)
FamilyT = TypeVar("FamilyT", Counter, Gauge, Histogram)
ReadT = TypeVar("ReadT", CounterMetricFamily, GaugeMetricFamily)


def build() -> dict[str, str]:
    """Return what is running, by name."""
    try:
        installed = version("radarstream")
    except PackageNotFoundError:
        installed = "unknown"
    return {"version": installed, "python": python_version()}


def read(
    kind: type[ReadT],
    name: str,
    text: str,
    labels: Sequence[str],
    samples: Iterable[tuple[Sequence[str], float]],
) -> ReadT:
    """Make a family of samples, each with the values of its labels, that were read just now."""
    family = kind(f"{NAMESPACE}_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


class Metrics:
    """What `/metrics` exports of every process: the build, the process, and families made here."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        Info("build", "What is running", namespace=NAMESPACE, registry=self.registry).info(build())
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
        """Make a family. Series of the `known` label values start at zero.

        Otherwise, a rate over the first event would miss it. Histograms are of seconds by default.
        """
        if kind is Histogram:
            options = {"buckets": DURATIONS} | options
        labels = (label,) if isinstance(label, str) else label
        family = kind(name, text, labels, NAMESPACE, registry=self.registry, **options)
        for values in known:
            family.labels(*((values,) if isinstance(values, str) else values))
        return family

    def add_clock(self, name: str, text: str) -> Gauge:
        """Show when something last happened; now, until it does."""
        gauge = self.add(Gauge, name, text)
        gauge.set_to_current_time()
        return gauge


class JobMetrics(Metrics):
    """What the job counts."""

    def __init__(self) -> None:
        super().__init__()
        add = self.add
        self.assigned = add(Gauge, "assigned_partitions", "Partitions that this worker reads")
        self.polled = add(Counter, "records_polled", "Snapshot records read")
        self.polled_bytes = add(Counter, "polled_bytes", "Bytes of snapshot records read")
        self.held_back = add(
            Gauge, "held_back_records", "Records polled and waiting for older ones of their query"
        )
        self.ahead = add(
            Gauge,
            "ahead_of_clock_records",
            "Records polled whose event time this machine's clock has yet to come near",
        )
        self.batch = add(Histogram, "batch_records", "Records in a batch", buckets=SIZES)
        self.stages = add(
            Histogram,
            "stage_duration_seconds",
            "Wall-clock time of one run of a stage",
            "stage",
            STAGES,
        )
        self.published = add(Counter, "events_published", "Events that the broker took")
        self.outbox = add(Gauge, "outbox_records", "Events waiting to be published")
        self.commits = add(Counter, "commits", "Commits of offsets")
        self.up_to_date = self.add_clock(
            "last_commit_timestamp_seconds",
            "When offsets were last committed, or everything was read and nothing was to be"
            " committed; the start of the job before the first time",
        )
        self.retries = add(
            Counter, "retries", "Failures after which the job tried again", ("operation", "error")
        )
        self.ages = add(
            Histogram,
            "snapshot_age_seconds",
            "From the event time of a snapshot to its answer",
            "provenance",
            [Provenance.LIVE.value],
            buckets=AGES,
        )
        self.answers = add(
            Counter,
            "answers",
            "Defended answers, by how they compare with the previous one",
            "outcome",
            OUTCOMES,
        )
        self.statuses = add(
            Counter,
            "answer_statuses",
            "Answers by what they rest on",
            "status",
            [status.value for status in AnswerStatus],
        )
        judged = [("rejected", reason.value) for reason in REJECTED]
        judged += [("kept", reason.value) for reason in KEPT]
        self.documents = add(
            Counter, "documents", "Documents judged", ("decision", "reason"), judged
        )
        self.memory = add(
            Counter,
            "memory_decisions",
            "What became of the previous answers",
            "decision",
            [decision.value for decision in MemoryDecision],
        )
        self.dead = add(
            Counter,
            "dead_letters",
            "Records that led to no answer",
            ("reason", "disposition"),
            [(why.value, "outage" if why in OUTAGES else "poison") for why in ReasonClass],
        )

    def stage(self, name: str) -> AbstractContextManager[Any]:
        """Time the enclosed work as a stage; one of a Meter's `observers`."""
        return self.stages.labels(name).time()

    def outcomes(self, outcomes: Iterable[AnswerEvent | DeadLetter], now: datetime) -> None:
        """Count snapshots that were answered or parked at the wall-clock time `now`."""
        for outcome in outcomes:
            if isinstance(outcome, DeadLetter):
                self.dead.labels(outcome.reason.value, outcome.disposition).inc()
                continue
            age = max(0.0, (now - outcome.observed_at).total_seconds())
            self.ages.labels(outcome.provenance.value).observe(age)
            self.answers.labels(outcome_of(outcome)).inc()
            if outcome.status is not None:
                self.statuses.labels(outcome.status.value).inc()
            self.memory.labels(outcome.verdict.memory.decision.value).inc()
            for document in outcome.verdict.documents:
                decision = "kept" if document.kept else "rejected"
                self.documents.labels(decision, document.reason.value).inc()


def outcome_of(event: AnswerEvent) -> str:
    """Return one of OUTCOMES; "first" when there was no answer to compare with."""
    if event.abstention is not None:
        return "abstained"
    if event.changed is None:
        return "first"
    return "changed" if event.changed else "unchanged"


class ModelMetrics(Collector):
    """Exports what models counted themselves, under the name of their role, such as "generator".

    A model is asked first, then what it `wrapped`, its `client` last: a response cache counts calls
    and hits, a service's client tokens, `cost`, `errors` by kind, and the state of its `breaker`, a
    judge of relations its `judgements` by what decided.
    What none of them has is not exported.
    """

    def __init__(self, models: Mapping[str, object]) -> None:
        self._models = {role: tuple(layers(model)) for role, model in models.items()}

    @classmethod
    def of(cls, models: Models) -> "ModelMetrics":
        """Return what exports the models of a guard."""
        return cls({field.name: getattr(models, field.name) for field in fields(models)})

    def collect(self) -> Iterator[Metric]:
        """Read everything once."""
        counter, each = CounterMetricFamily, self._each
        for attribute, name, text in (
            ("calls", "calls", "Requests that reached the model"),
            ("hits", "cache_hits", "Requests answered by the response cache"),
            ("cost", "cost", "Price of the tokens, in the currency of the settings"),
        ):
            counts = [([role], count) for role, count in each(attribute)]
            yield read(counter, f"model_{name}", text, ["model"], counts)
        directions = {"tokens_in": "in", "tokens_out": "out"}
        tokens = [([role, way], n) for name, way in directions.items() for role, n in each(name)]
        text = "Tokens, as the service says"
        yield read(counter, "model_tokens", text, ["model", "direction"], tokens)
        failed = [
            ([role, error], count)
            for role, errors in each("errors")
            for error, count in dict(errors).items()
        ]
        yield read(counter, "model_errors", "Failed attempts", ["model", "error"], failed)
        judged = [
            ([role, how], count)
            for role, counts in each("judgements")
            for how, count in dict(counts).items()
        ]
        text = "Pairs of answers that a language model relates, by what decided"
        yield read(counter, "relation_judgements", text, ["model", "decided_by"], judged)
        breakers = [(role, breaker.state, breaker.refused) for role, breaker in each("breaker")]
        yield read(
            GaugeMetricFamily,
            "breaker_state",
            "1 for the state that the model's circuit breaker is in",
            ["model", "state"],
            [([role, s], float(s == now)) for role, now, _ in breakers for s in BREAKER_STATES],
        )
        refused = [([role], count) for role, _, count in breakers]
        yield read(counter, "breaker_refused", "Calls not let through", ["model"], refused)

    def _each(self, attribute: str) -> Iterator[tuple[str, Any]]:
        """Yield each role's attribute of the outermost layer that has it."""
        for role, models in self._models.items():
            for model in models:
                if hasattr(model, attribute):
                    yield role, getattr(model, attribute)
                    break


def layers(model: object) -> Iterator[object]:
    """Yield a model, what it wraps, and so on; then the client of the service that it asks."""
    while model is not None:
        yield model
        model = getattr(model, "wrapped", getattr(model, "client", None))
