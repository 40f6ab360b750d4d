"""What `radarstream attribute` counts, for Prometheus."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from radarstream.pipelines.job.telemetry.metrics import Metrics, read
from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import ComplaintState, Status, TaughtEvent

INTAKE = ("taken_in", "refused", "unreadable")
# complaints by state, incidents by status, texts in quarantine
Backlog = tuple[dict[str, int], dict[str, int], int]


class AttributingMetrics(Metrics):
    """What `radarstream attribute` counts, and the backlog that `stored` reads in the database."""

    def __init__(
        self, stored: Callable[[], Backlog], registry: CollectorRegistry | None = None
    ) -> None:
        super().__init__(registry)
        add = self.add
        self.intake = add(
            Counter,
            "complaints",
            "Complaints read from their topic, by what became of them",
            "result",
            INTAKE,
        )
        self.attributions = add(
            Counter,
            "attributions",
            "Wrong answers that were attributed",
            "finding",
            [*(finding.value for finding in Finding), "unverified"],
        )
        self.incidents = add(
            Counter,
            "incidents_settled",
            "Incidents that were settled, by their status afterwards",
            "status",
            [status.value for status in Status],
        )
        self.failures = add(
            Counter,
            "attribution_failures",
            "Attributions that failed and are tried again, or not",
            "error",
        )
        self.seconds = add(
            Histogram, "attribution_duration_seconds", "Wall-clock time of one attribution"
        )
        self.registry.register(BacklogMetrics(stored))

    def settled(self, event: TaughtEvent, seconds: float | None) -> None:
        """Count an incident that was settled, and its attribution if models were asked."""
        self.incidents.labels(event.status.value).inc()
        if seconds is not None:
            self.attributions.labels(event.finding.value if event.finding else "unverified").inc()
            self.seconds.observe(seconds)

    def failed(self, error: str) -> None:
        """Count an attribution that failed with this class of error."""
        self.failures.labels(error).inc()


@dataclass(frozen=True, eq=False)
class BacklogMetrics(Collector):
    """Exports what the database holds at the moment; no sample while it does not answer."""

    stored: Callable[[], Backlog]

    def collect(self) -> Iterator[Metric]:
        """Read the database once."""
        try:
            states, statuses, held = self.stored()
            complaints = [([state.value], states.get(state, 0)) for state in ComplaintState]
            incidents = [([status.value], statuses.get(status, 0)) for status in Status]
            texts = [((), held)]
        except SQLAlchemyError:
            complaints, incidents, texts = [], [], []
        gauge = GaugeMetricFamily
        yield read(gauge, "complaints_stored", "Complaints in the database", ["state"], complaints)
        yield read(
            gauge, "incidents_stored", "Attributed incidents by status", ["status"], incidents
        )
        yield read(gauge, "quarantined_texts", "Texts left out at present", (), texts)
