"""What a consumer of answers and attributions does first: decode, drop repetitions, select.

Topics are at-least-once. First occurrences within a query come in order, so what is not newer than
the newest seen is a repetition.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from radarstream.schemas.codec import decode_answer, decode_rejected, decode_taught
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from radarstream.schemas.incidents import TaughtEvent

Event = AnswerEvent | RejectedEvent | TaughtEvent

ANSWERS = WIRE_SCHEMAS[AnswerEvent].topic
ATTRIBUTIONS = WIRE_SCHEMAS[RejectedEvent].topic


def decode_either(data: bytes) -> RejectedEvent | TaughtEvent:
    """Decode an attribution event of either kind."""
    try:
        return decode_rejected(data)
    except InputError as error:
        if error.reason is not ReasonClass.UNKNOWN_SCHEMA:
            raise
    return decode_taught(data)


DECODERS: Final[Mapping[str, Callable[[bytes], Event]]] = {
    ANSWERS: decode_answer,
    ATTRIBUTIONS: decode_either,
}
Place = tuple[datetime, int, int]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which events are wanted, by query, tag and time of observation (`since`, aware); what is
    empty selects all. `changed_only` keeps answers with another meaning than before, and no
    attributions.
    """

    queries: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    since: datetime | None = None
    changed_only: bool = False

    def admits(self, event: Event) -> bool:
        """Whether this event is wanted."""
        if self.changed_only and not (isinstance(event, AnswerEvent) and event.changed):
            return False
        return (
            (not self.queries or event.query_id in self.queries)
            and (not self.tags or not self.tags.isdisjoint(event.tags))
            and (self.since is None or event.observed_at >= self.since)
        )


@dataclass
class Following:
    """Turns the records of the two topics into events that are new and wanted."""

    selection: Selection
    newest: dict[tuple[str, str], Place] = field(default_factory=dict)

    def event(self, topic: str, data: bytes) -> Event | None:
        """The event in a record, unless it is a repetition or not wanted. Raises InputError."""
        event = DECODERS[topic](data)
        series, number = topic, 0  # `number` tells an event from others of its query and step
        if isinstance(event, RejectedEvent):
            number = event.rank
        elif isinstance(event, TaughtEvent):
            # It comes long after its answer: only the revisions of one incident are in order.
            series, number = event.incident, event.revision
        # Event time first: a query that was forgotten and watched again starts at step 0.
        place = (event.observed_at, event.step, number)
        newest = self.newest.get((series, event.query_id))
        if newest is not None and place <= newest:
            return None
        self.newest[series, event.query_id] = place
        return event if self.selection.admits(event) else None
