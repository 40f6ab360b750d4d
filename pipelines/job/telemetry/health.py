"""Whether the job lives and whether it is ready, as its loop and its models last showed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Literal

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.pipelines.job.telemetry.readings import read

Check = Literal["broker", "partitions", "database", "models"]
CHECKS: tuple[Check, ...] = ("broker", "partitions", "database", "models")


class Health(Collector):
    """Signs of life and checks, safe to use from any thread; exported to Prometheus.

    The job lives while its last sign is younger than `limit_s` seconds, `busy_limit_s` while a
    model works, and is ready while all `checks` pass. Others report them: nothing is probed here.
    """

    def __init__(
        self,
        limit_s: float,
        busy_limit_s: float,
        now: Callable[[], float] = monotonic,
        checks: Sequence[Check] = CHECKS,
    ) -> None:
        self._limit_s = limit_s
        self._busy_limit_s = busy_limit_s
        self._now = now
        self._lock = Lock()
        self._last_sign = now()
        self._busy: list[str] = []
        self._passed: dict[Check, bool] = dict.fromkeys(checks, False)

    def tick(self) -> None:
        """Give a sign of life."""
        self._last_sign = self._now()

    @contextmanager
    def busy(self, stage: str) -> Iterator[None]:
        """Allow the enclosed work its time; one of a Meter's `observers`."""
        with self._lock:
            self._busy.append(stage)
        self.tick()
        try:
            yield
        finally:
            with self._lock:
                self._busy.remove(stage)
            self.tick()

    def passed(self, check: Check, passed: bool = True) -> None:  # noqa: FBT001, FBT002 reads well
        """Report the result of a check."""
        self._passed[check] = passed

    @property
    def alive(self) -> bool:
        """Whether the last sign is young enough."""
        return self._silence_s <= (self._busy_limit_s if self._busy else self._limit_s)

    def checks(self) -> Mapping[str, bool]:
        """Return whether each check has passed."""
        return {check: passed for check, passed in self._passed.items()}  # noqa: C416 typed

    @property
    def ready(self) -> bool:
        """Whether every check has passed."""
        return all(self.checks().values())

    @property
    def _silence_s(self) -> float:
        return max(0.0, self._now() - self._last_sign)

    def life(self) -> dict[str, object]:
        """Return the body of /healthz."""
        with self._lock:
            busy = list(self._busy)
        return {"alive": self.alive, "silence_s": round(self._silence_s, 3), "busy": busy}

    def readiness(self) -> dict[str, object]:
        """Return the body of /readyz."""
        checks = self.checks()
        return {"ready": all(checks.values()), "checks": checks}

    def collect(self) -> Iterator[Metric]:
        """Export every check."""
        passed = [([check], float(passed)) for check, passed in self.checks().items()]
        text = "Whether a check of /readyz has passed: 1 or 0"
        yield read(GaugeMetricFamily, "check_passed", text, ["check"], passed)
