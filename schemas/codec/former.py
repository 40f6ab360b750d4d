"""Names that earlier releases used on the wire and in stored events, and what they are now."""

from dataclasses import dataclass, field
from typing import Any, Final

from radarstream.schemas.codec.wire import SchemaName
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from radarstream.schemas.incidents import Complaint, TaughtEvent

# Also in the state database, whose rows keep what was written.
FORMER_STATUS: Final = {"unverified_report": "unverified"}


@dataclass(frozen=True)
class FormerSchema(SchemaName):
    """A schema that is read but written no more: its type's present names by the former ones.

    `values` has, by the former name of a field, those values that were renamed. `without` are
    present fields that it did not have.
    """

    kind: type[Any]
    fields: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    without: frozenset[str] = frozenset()

    def renamed(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return a payload under the present names. Raises InputError where it has one already."""
        if not self.without.union(self.fields.values()).isdisjoint(payload):
            raise InputError(ReasonClass.UNKNOWN_FIELD, f"a field that {self.tag} does not have")
        values = {name: self._value(name, value) for name, value in payload.items()}
        return {self.fields.get(name, name): value for name, value in values.items()}

    def _value(self, name: str, value: Any) -> Any:
        renamed = self.values.get(name, {})
        return renamed.get(value, value) if isinstance(value, str) else value


FORMER_SCHEMAS: Final = (
    FormerSchema(
        "answer.defended",
        1,
        AnswerEvent,
        without=frozenset({"status", "support", "standing", "options", "min_support", "reranking"}),
    ),
    FormerSchema("answer.reported", 1, Complaint, {"reporter": "sender", "reported_at": "sent_at"}),
    FormerSchema("event.attribution", 1, RejectedEvent),
    FormerSchema(
        "event.origin",
        1,
        TaughtEvent,
        {"misgeneration": "incident", "reporters": "senders", "decision": "status"},
        {"decision": FORMER_STATUS},
    ),
)
