"""What `radarstream watch` counts, for Prometheus; rules as for the job's metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector

from pipelines.job.metrics import DURATIONS, build
from schemas.snapshot import SearchSnapshot

COMPLETENESS = ("complete", "partial")


class CollectingMetrics:
    """The collector's metrics in a registry of their own. Every method is cheap and never raises.

    `failure` is a class of failure from a closed set, never a message.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self._searches = Counter(
            "radarstream_searches_total", "Pages of results asked for", registry=registry
        )
        self._failures = Counter(
            "radarstream_search_failures_total",
            "Searches without results",
            ["failure"],
            registry=registry,
        )
        self._spent = Counter(
            "radarstream_search_credits_total", "Search credits spent", registry=registry
        )
        self._budget = Gauge(
            "radarstream_search_credits_budget",
            "Search credits that may be spent in the current period; absent without a budget",
            ["period"],
            registry=registry,
        )
        self._left = Gauge(
            "radarstream_search_credits_left",
            "Search credits left in the current period; absent without a budget",
            ["period"],
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
            "Snapshots published, and whether every page was there",
            ["completeness"],
            registry=registry,
        )
        self._documents = Counter(
            "radarstream_documents_collected_total", "Documents published", registry=registry
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
        Info("radarstream_build", "What is running", registry=registry).info(build())
        ProcessCollector(registry=registry)

    def watching(self, queries: int, overdue: int) -> None:
        """Tell how many queries are watched and how many are due."""
        self._watched.set(queries)
        self._overdue.set(overdue)

    def searched(self, pages: int, credits_spent: int, seconds: float) -> None:
        """Count one search, successful or not."""
        self._searches.inc(pages)
        self._spent.inc(credits_spent)
        self._seconds.observe(seconds)

    def failed(self, failure: str) -> None:
        """Count a search that gave nothing."""
        self._failures.labels(failure).inc()

    def collected(self, snapshot: SearchSnapshot, *, partial: bool = False) -> None:
        """Count a snapshot that was published."""
        self._collected.labels("partial" if partial else "complete").inc()
        self._documents.inc(len(snapshot.documents))
        self._progress.set_to_current_time()

    def budget(self, period: str, limit: int, left: int) -> None:
        """Show what is left of a budget; `period` is a fixed name such as "day" or "month"."""
        self._budget.labels(period).set(limit)
        self._left.labels(period).set(left)
