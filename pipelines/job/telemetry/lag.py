"""How far the worker is behind, asked by a thread beside the loop, which may be busy."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.connectors.kafka.topic_reader import Offsets
from radarstream.pipelines.job.telemetry.readings import read
from radarstream.schemas.records import RawRecord

REFRESH_S = 5.0


@dataclass(eq=False)
class Lag(Collector):
    """The lag of this worker's partitions; safe to use from any thread. `offsets` asks the broker;
    `read_to` is, by partition, the first offset that was not polled.
    """

    offsets: Callable[[], Mapping[int, Offsets]]
    known: Mapping[int, Offsets] = field(default_factory=dict)
    partitions: frozenset[int] = frozenset()
    read_to: dict[int, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def refresh(self) -> None:
        """Ask the broker. Raises BrokerError, ConfigurationError; what was known stays."""
        known = self.offsets()
        with self.lock:
            self.known = known

    def assigned(self, partitions: frozenset[int]) -> None:
        """Note which partitions are this worker's at present."""
        with self.lock:
            self.partitions = partitions

    def polled(self, records: Iterable[RawRecord]) -> None:
        """Note how far reading has come."""
        with self.lock:
            for record in records:
                if record.log is not None:
                    self.read_to[record.log.partition] = record.log.offset + 1

    def committed(self, next_offsets: Mapping[int, int]) -> None:
        """Note a commit: the broker is asked again only in a while."""
        with self.lock:
            moved = {p: offset for p, offset in next_offsets.items() if p in self.known}
            self.known = dict(self.known) | {
                p: replace(self.known[p], committed=offset) for p, offset in moved.items()
            }

    def all_read(self) -> bool:
        """Whether this worker polled all that its partitions hold, as far as the broker told."""
        with self.lock:
            return self.partitions <= self.known.keys() and all(
                self.read_to.get(p, 0) >= self.known[p].end or not self.known[p].lag
                for p in self.partitions
            )

    def collect(self) -> Iterator[Metric]:
        """Export the lag of the partitions that the broker told about."""
        with self.lock:
            known = sorted(self.partitions & self.known.keys())
            lags = [([str(p)], self.known[p].lag) for p in known]
        text = "Records between what the group has committed and the end of the partition"
        yield read(GaugeMetricFamily, "consumer_lag_records", text, ["partition"], lags)
