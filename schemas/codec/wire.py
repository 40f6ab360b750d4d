"""Wire names, versions and the encoder.

Every payload is a JSON object whose `schema` is `name/version`. Within a version only optional
fields are added; anything else is a new version.
"""

import json
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any

from radarstream.schemas.codec.text import clean
from radarstream.schemas.events import AnswerEvent, DeadLetter, RejectedEvent
from radarstream.schemas.incidents import Complaint, TaughtEvent
from radarstream.schemas.snapshot import ABSENT_UNSET, SearchSnapshot
from radarstream.schemas.times import wire_time

_AS_IS = frozenset({float, int, bool, type(None)})
Payload = SearchSnapshot | AnswerEvent | RejectedEvent | DeadLetter | Complaint | TaughtEvent


@dataclass(frozen=True)
class SchemaName:
    """A name and a version on the wire."""

    name: str
    version: int

    @property
    def tag(self) -> str:
        """Value of the payload's `schema` field."""
        return f"{self.name}/{self.version}"

    @property
    def uri(self) -> str:
        """CloudEvents `dataschema` and JSON Schema `$id`."""
        return f"urn:radarstream:{self.name}:{self.version}"


@dataclass(frozen=True)
class WireSchema(SchemaName):
    """A payload type's name and version on the wire, and the topic that carries it."""

    topic: str


WIRE_SCHEMAS: dict[type[Payload], WireSchema] = {
    SearchSnapshot: WireSchema("search.snapshot", 1, "search.snapshots"),
    AnswerEvent: WireSchema("answer.defended", 2, "answers.defended"),
    RejectedEvent: WireSchema("event.rejected", 1, "events.attribution"),
    DeadLetter: WireSchema("dead.letter", 1, "snapshots.deadletter"),
    Complaint: WireSchema("answer.complaint", 1, "answers.complaints"),
    TaughtEvent: WireSchema("event.taught", 1, "events.attribution"),
}


def encode(value: Payload) -> bytes:
    """Compact UTF-8 JSON in the order of the fields: equal values give equal bytes.

    A field that is marked so is absent while it is None. Times are written in UTC with
    milliseconds and strings without control characters, so
    `decode(encode(value)) == value` for every value that holds neither finer times nor such
    characters. Raises ValueError for NaN and infinity: those are defects, not data.
    """
    payload = {"schema": WIRE_SCHEMAS[type(value)].tag, **_plain(value)}
    return compact_json(payload).encode()


def compact_json(value: object) -> str:
    """JSON without blanks, non-ASCII characters as they are. Raises ValueError for NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    kind: Any = type(value)
    if kind in _AS_IS:  # by far the most values: capacities and ranks
        return value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, datetime):
        return wire_time(value)
    named = ((name, getattr(value, name), unset) for name, unset in _fields_of(kind))
    return {name: _plain(held) for name, held, unset in named if held is not None or not unset}


@cache
def _fields_of(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """The fields in order, each with whether it is left out while it is None."""
    return tuple((field.name, bool(field.metadata.get(ABSENT_UNSET))) for field in fields(kind))
