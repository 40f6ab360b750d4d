"""What `radarstream attribute` counts, for Prometheus."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from radarstream.pipelines.job.telemetry.registry import Registry
from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import ComplaintState, Status, TaughtEvent

INTAKE = ("taken_in", "refused", "unreadable")
Counts = tuple[dict[str, int], dict[str, int], int]  # complaints, statuses, texts in quarantine


class AttributingMetrics(Registry):
    """The worker's metrics in a registry. Every method is cheap and never raises.

    `counts` reads the database when Prometheus asks.
    """

    def __init__(
        self, counts: Callable[[], Counts], registry: CollectorRegistry | None = None
    ) -> None:
        super().__init__(registry)
        self._intake = self.counter(
            "radarstream_complaints_total",
            "Complaints read from their topic, by what became of them",
            ["result"],
            known=[[result] for result in INTAKE],
        )
        self._attributions = self.counter(
            "radarstream_attributions_total",
            "Wrong answers that were attributed",
            ["finding"],
            known=[*([finding.value] for finding in Finding), ["unverified"]],
        )
        self._settled = self.counter(
            "radarstream_incidents_settled_total",
            "Incidents that were settled, by their status afterwards",
            ["status"],
            known=[[status.value] for status in Status],
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

    def intake(self, result: str) -> None:
        """Count a record of the topic of complaints; `result` is one of INTAKE."""
        self._intake.labels(result).inc()

    def settled(self, event: TaughtEvent, seconds: float | None) -> None:
        """Count an incident that was settled, and the attribution before it if there was one."""
        self._settled.labels(event.status.value).inc()
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
        complaints = GaugeMetricFamily(
            "radarstream_complaints_stored", "Complaints in the database", labels=["state"]
        )
        incidents = GaugeMetricFamily(
            "radarstream_incidents_stored", "Attributed incidents by status", labels=["status"]
        )
        held = GaugeMetricFamily("radarstream_quarantined_texts", "Texts left out at present")
        try:
            by_state, by_status, active = self._counts()
        except SQLAlchemyError:
            pass
        else:
            for state in ComplaintState:
                complaints.add_metric([state.value], by_state.get(state, 0))
            for status in Status:
                incidents.add_metric([status.value], by_status.get(status, 0))
            held.add_metric([], active)
        yield from (complaints, incidents, held)
