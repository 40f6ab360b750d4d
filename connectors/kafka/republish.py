"""Bytes as they are back to a topic: for dead letters, which no codec could read."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from kafka.errors import KafkaError

from connectors.kafka.clients import broker_errors, open_producer
from connectors.kafka.options import KafkaOptions
from schemas.codec import clean


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A record to write."""

    key: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


def republish(options: KafkaOptions, topic: str, messages: Sequence[RawMessage]) -> None:
    """Write records to a topic (named without the prefix); return when all are durable.

    Raises BrokerError when any is not; some may be written then, but nothing is written later.
    """
    longest_s = options.delivery_timeout_s + 1.0
    producer = open_producer(options)
    try:
        with broker_errors(f"publish to {options.topic(topic)}"):
            sent = [
                producer.send(
                    options.topic(topic),
                    message.value,
                    clean(message.key).encode(),
                    headers=list(message.headers),
                )
                for message in messages
            ]
            producer.flush(timeout=longest_s)
            for future in sent:
                future.get(timeout=0)
    finally:
        with suppress(KafkaError, OSError):
            producer.close(timeout=longest_s)
