"""Writes events to Kafka as binary CloudEvents, durable on all in-sync replicas."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from kafka import KafkaProducer
from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
)

from radarstream.connectors.closing import Closing
from radarstream.connectors.kafka.clients import broker_errors, open_producer
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.schemas.codec import binary_headers, clean
from radarstream.schemas.errors import BrokerError, ConfigurationError, RecordTooLargeError
from radarstream.schemas.records import OutboxRecord

MARGIN_S = 1.0  # by which the client's own timeouts are late


class Message(NamedTuple):
    """A record to write. `topic` has no prefix; without a value it is a tombstone."""

    topic: str
    key: str
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


class KafkaSink(Closing):
    """Publishes events on our topics, in order per key.

    Connects on first use. After a failure, publish all records of that call again, which leaves
    copies with the same event id. Timestamps of records are those of publication, because retention
    depends on them; the header `ce_time` has the event time. Not thread-safe.
    """

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._producer: KafkaProducer | None = None

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        """Return when every record is durable. Raises BrokerError otherwise.

        Raises RecordTooLargeError for a record above its topic's limit, and ConfigurationError for
        a topic that we have no right to write to.
        """
        self.send(
            [Message(r.topic, r.key, r.data, tuple(binary_headers(r.envelope))) for r in records]
        )

    def retract(self, topic: str, key: str) -> None:
        """Write a tombstone, which deletes a key of a compacted topic. Raises BrokerError."""
        self.send([Message(topic, key, None)])

    def send(self, messages: Sequence[Message]) -> None:
        """Write records of any kind, as `publish`."""
        if not messages:
            return
        if self._producer is None:
            self._producer = open_producer(self._options)
        try:
            with broker_errors("publish events"):
                self._send_all(self._producer, messages)
        except BrokerError as error:
            self.close()
            # This refusal comes before the client names a topic.
            if ClusterAuthorizationFailedError.__name__ in str(error):
                topics = ", ".join(sorted({self._options.topic(m.topic) for m in messages}))
                raise ConfigurationError(f"may not write to {topics}") from error
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect; published records are durable already."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, OSError):
                # With a timeout: records of a failed call must not come after later ones.
                producer.close(timeout=self._longest_wait_s)

    def _send_all(self, producer: KafkaProducer, messages: Sequence[Message]) -> None:
        sent: list[tuple[str, int, Any]] = []
        for topic, key, value, headers in messages:
            name, size = self._options.topic(topic), len(value or b"")
            with _explained(name, size):
                future = producer.send(name, value, clean(key).encode(), headers=list(headers))
            sent.append((name, size, future))
        producer.flush(timeout=self._longest_wait_s)
        for name, size, future in sent:
            with _explained(name, size):
                future.get(timeout=0)

    @property
    def _longest_wait_s(self) -> float:
        return self._options.delivery_timeout_s + MARGIN_S


@contextmanager
def _explained(topic: str, size: int) -> Iterator[None]:
    """Turn a refusal for size into an error that says which limit to raise."""
    try:
        yield
    except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
        raise RecordTooLargeError(
            f"an event of {size} bytes is too large for topic {topic}: raise its "
            "max.message.bytes or kafka.message_bytes (radarstream topics describe shows both)"
        ) from error
