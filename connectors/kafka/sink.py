"""Events to Kafka: binary CloudEvents, durable on all in-sync replicas on return."""

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

MARGIN_S = 1.0  # the client fails what is overdue itself, a little late


class Message(NamedTuple):
    """A record as it is written. `topic` is without the prefix; no value: a tombstone."""

    topic: str
    key: str
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


class KafkaSink(Closing):
    """Publishes events on our topics, in order per key.

    Connects on first use. After a failure everything of that call must be published again, which
    leaves copies with the same event id. Record timestamps are those of publication: retention
    goes by them, and would delete answers about years ago at once. Event time is in `ce_time`.
    Not thread-safe.
    """

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._producer: KafkaProducer | None = None

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        """Return only when every record is durable. Raises BrokerError when any is not.

        Raises RecordTooLargeError for a record that its topic does not take, before its limit is
        raised, and ConfigurationError for a topic that we may not write to.
        """
        self.send(
            [Message(r.topic, r.key, r.data, tuple(binary_headers(r.envelope))) for r in records]
        )

    def retract(self, topic: str, key: str) -> None:
        """Write a tombstone, so that a compacted topic forgets the key. Raises BrokerError."""
        self.send([Message(topic, key, None)])

    def send(self, messages: Sequence[Message]) -> None:
        """Write records that need be no events. As `publish`."""
        if not messages:
            return
        if self._producer is None:
            self._producer = open_producer(self._options)
        try:
            with broker_errors("publish events"):
                self._send_all(self._producer, messages)
        except BrokerError as error:
            self.close()
            # Who may write to no topic at all is refused before the client names one.
            if ClusterAuthorizationFailedError.__name__ in str(error):
                topics = ", ".join(sorted({self._options.topic(m.topic) for m in messages}))
                raise ConfigurationError(f"may not write to {topics}") from error
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect. What `publish` has returned from is durable already."""
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(KafkaError, OSError):
                # Never leave it trying: records of a failed call would come after later ones.
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
    """Say which topic refused a record for its size, and what to raise."""
    try:
        yield
    except (MessageSizeTooLargeError, RecordListTooLargeError) as error:
        raise RecordTooLargeError(
            f"an event of {size} bytes is too large for topic {topic}: raise its "
            "max.message.bytes or kafka.message_bytes (radarstream topics describe shows both)"
        ) from error
