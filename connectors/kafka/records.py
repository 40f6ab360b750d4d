"""Turns a consumer's record into a raw record: bytes, place and why they are unusable."""

from typing import Any
from uuid import UUID

from kafka import KafkaConsumer

from radarstream.connectors.kafka.batches import RefusedBatch
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.records import ATTEMPTS_HEADER, LogPosition, RawRecord

LONGEST_COUNT = 6  # digits


def log_epoch(consumer: KafkaConsumer, topic: str) -> str:
    """Return the topic's id, or the cluster's id on brokers before 2.8; it has no "/".

    A topic that is deleted and created again has another id. Brokers before 2.8 have no topic ids:
    there, create the topic again under another name. The id is the one that the client knows,
    without a request.
    """
    cluster = consumer._cluster  # the client has no public access to either id
    identity = cluster.topic_id(topic)
    if identity is not None and UUID(str(identity)).int:
        return str(identity)
    return str(cluster.cluster_id or "unknown").replace("/", "_")


def raw_record(record: Any, epoch: str, message_bytes: int) -> RawRecord:
    """Return a raw record, identified by `epoch/topic/partition` and offset.

    A tombstone, an unreadable batch and a record above `message_bytes`, which no dead letter could
    carry, are marked as unusable; `message_bytes` of them are kept.
    """
    payload: bytes = record.value or b""
    reason, detail = None, ""
    if isinstance(record.value, RefusedBatch):
        reason, detail = record.value.refusal.reason, record.value.refusal.detail
        payload = bytes(payload[:message_bytes])
    elif record.value is None:
        reason, detail = ReasonClass.MALFORMED_JSON, "a record without a value"
    elif len(payload) > message_bytes:
        reason = ReasonClass.OVERSIZED_RECORD
        detail = f"{len(payload)} bytes, more than {message_bytes}; its start is kept"
        payload = payload[:message_bytes]
    return RawRecord(
        source=f"{epoch}/{record.topic}/{record.partition}",
        position=record.offset,
        payload=payload,
        reason=reason,
        detail=detail,
        log=LogPosition(epoch, record.partition, record.offset),
        attempts=attempts(record.headers),
    )


def attempts(headers: list[tuple[str, bytes]]) -> int:
    """Read how often the record was tried; 1 without a valid header.

    >>> attempts([("radarstream-attempts", b"3")]), attempts([("radarstream-attempts", b"-3")])
    (3, 1)
    """
    text = dict(headers or []).get(ATTEMPTS_HEADER) or b""
    if text.isdigit() and len(text) <= LONGEST_COUNT:
        return max(1, int(text))
    return 1
