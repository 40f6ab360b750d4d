"""Who listens to the answers while things die: which came, and when they were published."""

from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.topic_reader import TopicReader, TopicRecord
from radarstream.schemas.errors import BrokerError


class Listener:
    """Reads `answers.defended` in a thread, as a context manager.

    `count` is how many records came, repetitions included, `ids` the answers among them. `hear`
    is called with each record.
    """

    def __init__(
        self, options: KafkaOptions, hear: Callable[[TopicRecord], object] = lambda _: None
    ) -> None:
        self.reader = TopicReader(options, ["answers.defended"])
        self.hear = hear
        self.count = 0
        self.ids: set[bytes] = set()
        self._stop = Event()
        self._thread = Thread(target=self._listen)

    def __enter__(self) -> "Listener":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        self.reader.close()

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                polled = self.reader.poll(timeout_s=0.2)
            except BrokerError:
                continue  # it comes back
            for record in polled:
                self.hear(record)
            self.ids |= {record.headers["ce_id"] for record in polled}
            self.count += len(polled)
