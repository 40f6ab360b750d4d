"""What `radarstream watch` counts, for Prometheus."""

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.connectors.serpapi.search import SearchCounts
from radarstream.pipelines.job.telemetry.metrics import Metrics, read
from radarstream.schemas.snapshot import SearchSnapshot


class CollectingMetrics(Metrics):
    """What `radarstream watch` counts, beside the `counts` of its search client."""

    def __init__(self, counts: SearchCounts) -> None:
        super().__init__()
        add = self.add
        self.failures = add(Counter, "search_failures", "Searches that gave no snapshot", "failure")
        self.seconds = add(
            Histogram, "search_duration_seconds", "Wall-clock time of one search with all its pages"
        )
        self.snapshots = add(
            Counter,
            "snapshots_collected",
            "Snapshots published, and whether all that was asked for was there",
            "completeness",
            ("complete", "partial"),
        )
        self.documents = add(Counter, "documents_collected", "Documents published")
        self.budget = add(Gauge, "search_credits_budget", "Credits that a month may cost")
        self.used = add(Gauge, "search_credits_used", "Credits spent this month")
        self.watched = add(Gauge, "watched_queries", "Queries on the watchlist")
        self.overdue = add(Gauge, "overdue_queries", "Queries whose time has come")
        self.progress = self.add_clock(
            "last_collected_timestamp_seconds",
            "When a snapshot was last published; the start before the first one",
        )
        self.registry.register(SearchMetrics(counts))

    def collected(self, snapshot: SearchSnapshot) -> None:
        """Count a snapshot that was published."""
        partial = snapshot.retrieval is not None and snapshot.retrieval.partial
        self.snapshots.labels("partial" if partial else "complete").inc()
        self.documents.inc(len(snapshot.documents))
        self.progress.set_to_current_time()


@dataclass(frozen=True, eq=False)
class SearchMetrics(Collector):
    """Exports what a search client counted."""

    counts: SearchCounts

    def collect(self) -> Iterator[Metric]:
        """Read the counts."""
        for name, text, value in (
            ("requests", "Pages of results asked for", self.counts.requests),
            ("retries", "Requests sent again", self.counts.retries),
            ("credits", "Credits spent by this process", self.counts.credits),
        ):
            yield read(CounterMetricFamily, f"search_{name}", text, (), [((), value)])
