"""Wire names, versions and the encoder.

Every payload is a JSON object whose `schema` is `name/version`. A version may get new optional
fields; any other change needs a new version.
"""

import json
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from radarstream.schemas.codec.text import clean, may_be_forbidden
from radarstream.schemas.events import AnswerEvent, DeadLetter, RejectedEvent
from radarstream.schemas.incidents import Complaint, TaughtEvent
from radarstream.schemas.snapshot import SearchSnapshot

Payload = SearchSnapshot | AnswerEvent | RejectedEvent | DeadLetter | Complaint | TaughtEvent


@dataclass(frozen=True)
class WireSchema:
    """A payload type's name and version on the wire, and the topic that carries it."""

    name: str
    version: int
    topic: str

    @property
    def tag(self) -> str:
        """Value of the payload's `schema` field."""
        return f"{self.name}/{self.version}"

    @property
    def uri(self) -> str:
        """CloudEvents `dataschema` and JSON Schema `$id`."""
        return f"urn:radarstream:{self.name}:{self.version}"


WIRE_SCHEMAS: dict[type[Payload], WireSchema] = {
    SearchSnapshot: WireSchema("search.snapshot", 1, "search.snapshots"),
    AnswerEvent: WireSchema("answer.defended", 2, "answers.defended"),
    RejectedEvent: WireSchema("event.rejected", 1, "events.attribution"),
    DeadLetter: WireSchema("dead.letter", 1, "snapshots.deadletter"),
    Complaint: WireSchema("answer.complaint", 1, "answers.complaints"),
    TaughtEvent: WireSchema("event.taught", 1, "events.attribution"),
}
ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in WIRE_SCHEMAS}
_NOT_FINITE = (b"NaN", b"Infinity")  # numbers, or texts with these words


def encode(value: Payload) -> bytes:
    """Return compact UTF-8 JSON in the order of the fields: equal values give equal bytes.

    A field with `ABSENT_UNSET` is absent while it is None. Times are in UTC with milliseconds;
    forbidden characters are removed. Decoding gives any other value back. Raises ValueError for
    NaN and infinity.
    """
    adapter = ADAPTERS[type(value)]
    try:
        data = adapter.dump_json(value)
    except PydanticSerializationError:  # a lone surrogate
        data = b""
    if not data or may_be_forbidden(data) or any(word in data for word in _NOT_FINITE):
        data = to_json(_cleaned(adapter.dump_python(value, mode="json")))
    return b'{"schema":"' + WIRE_SCHEMAS[type(value)].tag.encode() + b'",' + data[1:]


def compact_json(value: object) -> str:
    """Return JSON without blanks, with non-ASCII characters. Raises ValueError for NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _cleaned(value: Any) -> Any:
    """Remove forbidden characters from all strings. Raises ValueError for NaN and infinity."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{value!r} is not JSON compliant")
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {name: _cleaned(held) for name, held in value.items()}
    return value
