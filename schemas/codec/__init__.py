"""The wire format: names, versions, envelopes, encoding and decoding."""

from radarstream.schemas.codec.cloud_events import (
    binary_headers,
    decode_envelope,
    encode_envelope,
    envelope,
    outbox_record,
    structured,
)
from radarstream.schemas.codec.decoding import (
    dead_letter,
    decode_answer,
    decode_complaint,
    decode_dead_letter,
    decode_record,
    decode_rejected,
    decode_snapshot,
    decode_taught,
    decoded,
)
from radarstream.schemas.codec.state import decode_stored, encode_state
from radarstream.schemas.codec.text import clean
from radarstream.schemas.codec.wire import WIRE_SCHEMAS, encode

__all__ = [
    "WIRE_SCHEMAS",
    "binary_headers",
    "clean",
    "dead_letter",
    "decode_answer",
    "decode_rejected",
    "decode_dead_letter",
    "decode_envelope",
    "decode_taught",
    "decode_record",
    "decode_complaint",
    "decode_snapshot",
    "decode_stored",
    "decoded",
    "encode",
    "encode_envelope",
    "encode_state",
    "envelope",
    "outbox_record",
    "structured",
]
