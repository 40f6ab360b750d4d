"""The places for requests in hand, and who holds them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from radarstream.pipelines.job.telemetry.metrics import ServingMetrics
from radarstream.pipelines.serving.errors import unavailable

TIMES_FREE: Final = 3  # a share may hold fewer places than this times those that are free


class Places:
    """`most` places. One share alone gets three quarters of them, so that others find one.

    The bound follows the free places: "Dynamic queue length thresholds for shared-memory packet
    switches" (Choudhury and Hahne, 1998).
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
