"""What `radarstream watch` counts, for Prometheus."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.pipelines.job.telemetry.registry import Registry
from radarstream.schemas.snapshot import SearchSnapshot

COMPLETENESS = ("complete", "partial")


class Counts(Protocol):
    """What a search client counts itself; read when Prometheus asks."""

    requests: int
    retries: int
    credits: int


class CollectingMetrics(Registry):
    """The collector's metrics. Every method is cheap and never raises.

    `counts` are those of the search client, if it has any.
    """

    def __init__(self, counts: Counts | None = None) -> None:
        super().__init__()
        self._failures = self.counter(
            "radarstream_search_failures_total", "Searches that gave no snapshot", ["failure"]
        )
        self._seconds = self.histogram(
            "radarstream_search_duration_seconds",
            "Wall-clock time of one search with all its pages",
        )
        self._collected = self.counter(
            "radarstream_snapshots_collected_total",
            "Snapshots published, and whether all that was asked for was there",
            ["completeness"],
            known=[[completeness] for completeness in COMPLETENESS],
        )
        self._documents = self.counter(
            "radarstream_documents_collected_total", "Documents published"
        )
        self._budget = self.gauge(
            "radarstream_search_credits_budget", "Credits that a month may cost"
        )
        self._used = self.gauge("radarstream_search_credits_used", "Credits spent this month")
        self._watched = self.gauge("radarstream_watched_queries", "Queries on the watchlist")
        self._overdue = self.gauge("radarstream_overdue_queries", "Queries whose time has come")
        self._progress = self.clock(
            "radarstream_last_collected_timestamp_seconds",
            "When a snapshot was last published; the start before the first one",
        )
        if counts is not None:
            self.registry.register(SearchMetrics(counts))

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
