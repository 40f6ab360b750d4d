"""A registry of Prometheus collectors for one process: `radarstream_…`, base units, no query ids.

Label values come from closed sets (enumerations, partitions, exception classes, stage names), so
the number of series is bounded whatever arrives.
"""

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
)

MINUTE: Final = 60.0
DURATIONS: Final = (
    *(0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    *(MINUTE, 3 * MINUTE, 10 * MINUTE),
)
FamilyT = TypeVar("FamilyT", Counter, Histogram)


class Registry:
    """What `/metrics` exports: the build, the process, and the collectors made here.

    `known` are values of the `labels` that are known before the first event. Their series start at
    zero: a rate over the first event would miss it otherwise.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        Info("radarstream_build", "What is running", registry=self.registry).info(build())
        ProcessCollector(registry=self.registry)

    def counter(
        self, name: str, text: str, labels: Sequence[str] = (), known: Iterable[Sequence[str]] = ()
    ) -> Counter:
        """Count events; the exported name ends in `_total`."""
        return with_series(Counter(name, text, labels, registry=self.registry), known)

    def gauge(self, name: str, text: str) -> Gauge:
        """Show a value that goes up and down."""
        return Gauge(name, text, registry=self.registry)

    def histogram(
        self,
        name: str,
        text: str,
        labels: Sequence[str] = (),
        known: Iterable[Sequence[str]] = (),
        buckets: Sequence[float] = DURATIONS,
    ) -> Histogram:
        """Show how values are distributed, by default seconds."""
        family = Histogram(name, text, labels, registry=self.registry, buckets=buckets)
        return with_series(family, known)

    def clock(self, name: str, text: str) -> Gauge:
        """Show when something last happened; now, until it does."""
        gauge = self.gauge(name, text)
        gauge.set_to_current_time()
        return gauge


def with_series(family: FamilyT, known: Iterable[Sequence[str]]) -> FamilyT:
    """Make the series of known label values."""
    for values in known:
        family.labels(*values)
    return family


def build() -> dict[str, str]:
    """Return what is running, by name."""
    try:
        installed = version("radarstream")
    except PackageNotFoundError:
        installed = "unknown"
    return {"version": installed, "python": python_version()}
