"""The wire format: the only place that knows names, versions and envelopes."""

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
    decode_attribution,
    decode_dead_letter,
    decode_origin,
    decode_record,
    decode_report,
    decode_snapshot,
    decoded,
)
from radarstream.schemas.codec.state import decode_state, encode_state
from radarstream.schemas.codec.text import clean
from radarstream.schemas.codec.wire import WIRE_SCHEMAS, encode

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
    "decoded",
    "encode",
    "encode_envelope",
    "encode_state",
    "envelope",
    "outbox_record",
    "structured",
]
