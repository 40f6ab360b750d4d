"""How far the worker is behind, while it is busy too: end offset - committed offset.

The loop reads nothing while a batch runs, and knows only what its last poll told. So the broker is
asked from a thread of its own, over a connection of its own, and Prometheus is told what is known
when it asks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from threading import Lock

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.connectors.kafka.offsets import Offsets
from radarstream.schemas.records import RawRecord

REFRESH_S = 5.0


class Lag(Collector):
    """The lag of the partitions that this worker reads; safe to use from any thread.

    `read` asks the broker for the offsets of all partitions.
    """

    def __init__(self, read: Callable[[], Mapping[int, Offsets]]) -> None:
        self._read = read
        self._lock = Lock()
        self._known: Mapping[int, Offsets] = {}
        self._partitions: frozenset[int] = frozenset()
        self._next: dict[int, int] = {}  # by partition, the first offset that was not polled

    def refresh(self) -> None:
        """Ask the broker. Raises BrokerError, ConfigurationError; what was known stays."""
        known = self._read()
        with self._lock:
            self._known = known

    def assigned(self, partitions: frozenset[int]) -> None:
        """Note which partitions are this worker's at present."""
        with self._lock:
            self._partitions = partitions

    def polled(self, records: Iterable[RawRecord]) -> None:
        """Note how far reading has come."""
        with self._lock:
            for record in records:
                if record.log is not None:
                    self._next[record.log.partition] = record.log.offset + 1

    def committed(self, next_offsets: Mapping[int, int]) -> None:
        """Note a commit: the broker is asked again only in a while."""
        with self._lock:
            self._known = dict(self._known) | {
                partition: replace(self._known[partition], committed=offset)
                for partition, offset in next_offsets.items()
                if partition in self._known
            }

    def by_partition(self) -> dict[int, int]:
        """Records that are not committed, by partition of this worker as far as it is known."""
        with self._lock:
            return {p: self._known[p].lag for p in sorted(self._partitions & self._known.keys())}

    def all_read(self) -> bool:
        """Whether everything in this worker's partitions, as far as the broker told, was polled."""
        with self._lock:
            return self._partitions <= self._known.keys() and all(
                self._next.get(p, 0) >= self._known[p].end or not self._known[p].lag
                for p in self._partitions
            )

    def collect(self) -> Iterator[Metric]:
        """Tell Prometheus."""
        lag = GaugeMetricFamily(
            "radarstream_consumer_lag_records",
            "Records between what the group has committed and the end of the partition",
            labels=["partition"],
        )
        for partition, behind in self.by_partition().items():
            lag.add_metric([str(partition)], behind)
        yield lag
