"""What `radarstream attribute` counts, for Prometheus."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from radarstream.pipelines.job.telemetry.registry import Registry
from radarstream.schemas.attribution import Finding
from radarstream.schemas.reports import Decision, OriginEvent, ReportState

INTAKE = ("taken_in", "refused", "unreadable")
Counts = tuple[dict[str, int], dict[str, int], int]  # reports, decisions, texts in quarantine


class AttributingMetrics(Registry):
    """The worker's metrics in a registry. Every method is cheap and never raises.

    `counts` reads the database when Prometheus asks.
    """

    def __init__(
        self, counts: Callable[[], Counts], registry: CollectorRegistry | None = None
    ) -> None:
        super().__init__(registry)
        self._intake = self.counter(
            "radarstream_reports_total",
            "Reports read from their topic, by what became of them",
            ["outcome"],
            known=[[outcome] for outcome in INTAKE],
        )
        self._attributions = self.counter(
            "radarstream_attributions_total",
            "Wrong answers that were attributed",
            ["finding"],
            known=[*([finding.value] for finding in Finding), ["unverified"]],
        )
        self._decisions = self.counter(
            "radarstream_attribution_decisions_total",
            "Decisions about wrong answers, the same one again included",
            ["decision"],
            known=[[decision.value] for decision in Decision],
        )
        self._failures = self.counter(
            "radarstream_attribution_failures_total",
            "Attributions that failed and are tried again, or not",
            ["error"],
        )
        self._seconds = self.histogram(
            "radarstream_attribution_duration_seconds", "Wall-clock time of one attribution"
        )
        self.registry.register(Backlog(counts))

    def intake(self, outcome: str) -> None:
        """Count a record of the reports' topic; `outcome` is one of INTAKE."""
        self._intake.labels(outcome).inc()

    def settled(self, event: OriginEvent, seconds: float | None) -> None:
        """Count a decision, and the attribution before it if there was one."""
        self._decisions.labels(event.decision.value).inc()
        if seconds is not None:
            finding = event.finding.value if event.finding else "unverified"
            self._attributions.labels(finding).inc()
            self._seconds.observe(seconds)

    def failed(self, error: str) -> None:
        """Count an attribution that failed with this class of error."""
        self._failures.labels(error).inc()


class Backlog(Collector):
    """Exports what the database holds at the moment; nothing while it does not answer."""

    def __init__(self, counts: Callable[[], Counts]) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Read the database once."""
        reports = GaugeMetricFamily(
            "radarstream_reports_stored", "Reports in the database", labels=["state"]
        )
        origins = GaugeMetricFamily(
            "radarstream_origins_stored", "Wrong answers by decision", labels=["decision"]
        )
        held = GaugeMetricFamily("radarstream_quarantined_texts", "Texts left out at present")
        try:
            by_state, by_decision, active = self._counts()
        except SQLAlchemyError:
            pass
        else:
            for state in ReportState:
                reports.add_metric([state.value], by_state.get(state, 0))
            for decision in Decision:
                origins.add_metric([decision.value], by_decision.get(decision, 0))
            held.add_metric([], active)
        yield from (reports, origins, held)
