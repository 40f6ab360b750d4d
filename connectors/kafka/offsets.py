"""Where a topic's partitions begin and end, and how far a group has come, as the broker says."""

from dataclasses import dataclass, field

from kafka import KafkaConsumer

from radarstream.connectors.kafka.clients import Reader, broker_errors
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.records import log_epoch
from radarstream.connectors.kafka.source import SNAPSHOTS


@dataclass(frozen=True, slots=True)
class Offsets:
    """Of one partition: the first kept record, the one after the last, what the group committed.

    `committed` is None without a group, and where the group has committed nothing. `epoch` names
    the log as records do.
    """

    first: int
    end: int
    committed: int | None = None
    epoch: str = field(default="", compare=False)

    @property
    def lag(self) -> int:
        """Records that the group has not committed."""
        start = self.first if self.committed is None else max(self.first, self.committed)
        return max(0, self.end - start)


class OffsetReader(Reader):
    """Asks for the offsets of a topic (named without the prefix) over a connection of its own.

    Reads no record and joins no group. Connects when it is first asked, and again after an error.
    """

    def __init__(
        self, options: KafkaOptions, *, topic: str = SNAPSHOTS, group: str | None = None
    ) -> None:
        super().__init__(options)
        self._topic = options.topic(topic)
        self._group = group

    def read(self) -> dict[int, Offsets]:
        """Return the offsets by partition at this moment.

        Raises BrokerError, also when there is no such topic, and ConfigurationError.
        """
        consumer = self._consumer or self._open(self._group)
        try:
            with broker_errors(f"find the offsets of {self._topic}"):
                return self._asked(consumer)
        except BaseException:
            self.close()
            raise

    def _asked(self, consumer: KafkaConsumer) -> dict[int, Offsets]:
        timeout_ms = self._timeout_ms
        places = self._partitions_of(consumer, self._topic)
        committed = {
            place: consumer.committed(place, timeout_ms=timeout_ms) if self._group else None
            for place in places
        }
        first = consumer.beginning_offsets(places, timeout_ms=timeout_ms)
        # Last: what is committed later cannot lie beyond. Test brokers may tell too little here.
        end = consumer.end_offsets(places, timeout_ms=timeout_ms)
        epoch = log_epoch(consumer, self._topic)
        return {p.partition: Offsets(first[p], end[p], committed[p], epoch) for p in places}


def partition_offsets(
    options: KafkaOptions, *, topic: str = SNAPSHOTS, group: str | None = None
) -> dict[int, Offsets]:
    """Return the offsets of a topic's partitions once. As `OffsetReader.read`."""
    with OffsetReader(options, topic=topic, group=group) as reader:
        return reader.read()
