"""What `radarstream watch` counts, for Prometheus; rules as for the job's metrics."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.pipelines.job.telemetry.metrics import DURATIONS, build
from radarstream.schemas.snapshot import SearchSnapshot

COMPLETENESS = ("complete", "partial")


class Counts(Protocol):
    """What a search client counts itself; read when Prometheus asks."""

    requests: int
    retries: int
    credits: int


class CollectingMetrics:
    """The collector's metrics in a registry of their own. Every method is cheap and never raises.

    `counts` are those of the search client, if it has any.
    """

    def __init__(self, counts: Counts | None = None) -> None:
        self.registry = registry = CollectorRegistry()
        self._failures = Counter(
            "radarstream_search_failures_total",
            "Searches that gave no snapshot",
            ["failure"],
            registry=registry,
        )
        self._seconds = Histogram(
            "radarstream_search_duration_seconds",
            "Wall-clock time of one search with all its pages",
            buckets=DURATIONS,
            registry=registry,
        )
        self._collected = Counter(
            "radarstream_snapshots_collected_total",
            "Snapshots published, and whether all that was asked for was there",
            ["completeness"],
            registry=registry,
        )
        self._documents = Counter(
            "radarstream_documents_collected_total", "Documents published", registry=registry
        )
        self._budget = Gauge(
            "radarstream_search_credits_budget", "Credits that a month may cost", registry=registry
        )
        self._used = Gauge(
            "radarstream_search_credits_used", "Credits spent this month", registry=registry
        )
        self._watched = Gauge(
            "radarstream_watched_queries", "Queries on the watchlist", registry=registry
        )
        self._overdue = Gauge(
            "radarstream_overdue_queries", "Queries whose time has come", registry=registry
        )
        self._progress = Gauge(
            "radarstream_last_collected_timestamp_seconds",
            "When a snapshot was last published; the start before the first one",
            registry=registry,
        )
        self._progress.set_to_current_time()
        for completeness in COMPLETENESS:
            self._collected.labels(completeness)
        if counts is not None:
            registry.register(SearchMetrics(counts))
        Info("radarstream_build", "What is running", registry=registry).info(build())
        ProcessCollector(registry=registry)

    def watching(self, queries: int, overdue: int) -> None:
        """Tell how many queries are watched and how many of them are due."""
        self._watched.set(queries)
        self._overdue.set(overdue)

    def searching(self) -> AbstractContextManager[Any]:
        """Time the enclosed search."""
        return self._seconds.time()

    def failed(self, failure: str) -> None:
        """Count a search that gave nothing; `failure` is its class, never a message."""
        self._failures.labels(failure).inc()

    def collected(self, snapshot: SearchSnapshot) -> None:
        """Count a snapshot that was published."""
        partial = snapshot.retrieval is not None and snapshot.retrieval.partial
        self._collected.labels("partial" if partial else "complete").inc()
        self._documents.inc(len(snapshot.documents))
        self._progress.set_to_current_time()

    def budget(self, limit: int, used: int) -> None:
        """Show what this month may cost and has cost, in credits, all workers together."""
        self._budget.set(limit)
        self._used.set(used)


class SearchMetrics(Collector):
    """Exports what a search client counted."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Read the counts."""
        counts = self._counts
        yield CounterMetricFamily(
            "radarstream_search_requests", "Pages of results asked for", counts.requests
        )
        yield CounterMetricFamily(
            "radarstream_search_retries", "Requests sent again", counts.retries
        )
        yield CounterMetricFamily(
            "radarstream_search_credits", "Credits spent by this process", counts.credits
        )
