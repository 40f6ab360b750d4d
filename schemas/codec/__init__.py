"""The wire format: the only place that knows names, versions and envelopes."""

from schemas.codec.cloud_events import (
    binary_headers,
    decode_envelope,
    encode_envelope,
    envelope,
    outbox_record,
    structured,
)
from schemas.codec.decoding import (
    dead_letter,
    decode_answer,
    decode_attribution,
    decode_dead_letter,
    decode_origin,
    decode_record,
    decode_report,
    decode_snapshot,
)
from schemas.codec.state import decode_state, encode_state
from schemas.codec.text import clean
from schemas.codec.wire import WIRE_SCHEMAS, encode

__all__ = [
    "WIRE_SCHEMAS",
    "binary_headers",
    "clean",
    "dead_letter",
    "decode_answer",
    "decode_attribution",
    "decode_dead_letter",
    "decode_envelope",
    "decode_origin",
    "decode_record",
    "decode_report",
    "decode_snapshot",
    "decode_state",
    "encode",
    "encode_envelope",
    "encode_state",
    "envelope",
    "outbox_record",
    "structured",
]
