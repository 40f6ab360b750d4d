"""Fair shares: how much one user may ask for, and how many places of the service one may hold."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from radarstream.pipelines.job.telemetry.metrics import ServingMetrics
from radarstream.pipelines.serving.errors import unavailable

TIMES_FREE: Final = 3  # a share may hold fewer places than this times those that are free
KNOWN: Final = 10_000  # names whose buckets are kept; the one idle for longest is forgotten


class Buckets:
    """A bucket of tokens per name, refilled evenly, one a request; for one thread."""

    def __init__(self, per_minute: float, now: Callable[[], float] = monotonic) -> None:
        self._size, self._per_second, self._now = per_minute, per_minute / 60.0, now
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take a token. Returns 0, or the seconds until there is one."""
        now = self._now()
        level, then = self._levels.get(name, (self._size, now))
        level = min(self._size, level + (now - then) * self._per_second)
        self._levels[name] = (level - 1.0 if level >= 1.0 else level, now)
        self._levels.move_to_end(name)
        if len(self._levels) > KNOWN:
            self._levels.popitem(last=False)
        return 0.0 if level >= 1.0 else (1.0 - level) / self._per_second


class Places:
    """`most` places, of which one share gets three quarters at most: the bound follows the free
    places ("Dynamic queue length thresholds for shared-memory packet switches", Choudhury and
    Hahne, 1998).
    """

    def __init__(self, most: int, metrics: ServingMetrics) -> None:
        self._most, self._metrics = most, metrics
        self._held: Counter[str] = Counter()

    @contextmanager
    def taken(self, share: str) -> Iterator[None]:
        """Hold a place. Raises ServiceError 503 where the share has its part, or none is left."""
        if self._held[share] >= TIMES_FREE * (self._most - self._held.total()):
            self._metrics.refused.labels("busy").inc()
            raise unavailable("overloaded", "too many requests are in hand; try again")
        self._held[share] += 1
        self._metrics.in_hand.inc()
        try:
            yield
        finally:
            self._metrics.in_hand.dec()
            self._held[share] -= 1
            if not self._held[share]:
                del self._held[share]
