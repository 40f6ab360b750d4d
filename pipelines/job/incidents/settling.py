"""What follows from a wrong answer, in one transaction: status, event, quarantine, memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import complaints, quarantine, senders, store
from radarstream.connectors.state_table.queries import memory
from radarstream.connectors.state_table.queries.outbox import insert_records
from radarstream.defenses.attribution.protection import Rules, doubt, status_of
from radarstream.schemas import incidents
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.snapshot import Document

EXCERPT_CHARACTERS = 300
LANE = -1  # of the outbox: published by the attribution worker alone, in the order of revisions


@dataclass(frozen=True, slots=True)
class Investigated:
    """A finished investigation and its cost; `reserved`: the reserved half of the budget paid."""

    event: incidents.TaughtEvent
    flagged: tuple[Document, ...]
    at_ms: int
    model_calls: int
    reserved: bool = False


def settle(
    engine: Engine,
    complaint: complaints.StoredComplaint,
    rules: Rules,
    *,
    now_ms: int,
    found: Investigated | None = None,
) -> incidents.TaughtEvent | None:
    """Settle an incident with what was just found out, or is on record; None without either. Of two
    workers the first result that looked for texts stays.
    """
    if found is not None:
        # Up to a second of computing, which is remembered: others need not wait for it to write.
        doubt(found.event, rules)

    def work(connection: Connection) -> incidents.TaughtEvent | None:
        return Settlement(connection, complaint, rules, now_ms).settled(found)

    return in_transaction(engine, work)


def decide(
    engine: Engine,
    complaint: complaints.StoredComplaint,
    decision: incidents.Decision,
    rules: Rules,
    *,
    now_ms: int,
    everywhere: bool = False,
) -> incidents.TaughtEvent | None:
    """Write down a person's decision and what follows from it; None when the answer is not
    attributed yet. An approved answer that could not be reproduced is attributed anew.
    """

    def work(connection: Connection) -> incidents.TaughtEvent | None:
        settlement = Settlement(connection, complaint, rules, now_ms)
        return settlement.decided(decision, everywhere=everywhere)

    return in_transaction(engine, work)


@dataclass
class Settlement:
    """One transaction about one incident, whose row it holds."""

    connection: Connection
    complaint: complaints.StoredComplaint
    rules: Rules
    now_ms: int
    incident: store.Incident = field(init=False)

    def __post_init__(self) -> None:
        told = self.complaint
        self.incident = store.hold(self.connection, told.incident, told.query_id, told.step)

    def decided(
        self, decision: incidents.Decision, *, everywhere: bool
    ) -> incidents.TaughtEvent | None:
        """Write a person's decision, and settle what is on record."""
        connection, incident = self.connection, self.complaint.incident
        store.decide(connection, incident, decision, everywhere=everywhere, at_ms=self.now_ms)
        event = self.incident.event
        if decision == incidents.Decision.MODEL_ERRED and event is None:  # else when settled
            memory.unlearn(connection, self.complaint.query_id, self.complaint.answer)
        self.incident = replace(self.incident, decision=decision, everywhere=everywhere)
        if decision == incidents.Decision.APPROVED:
            quarantine.hold_all(connection, incident)
            if event is None or event.finding is None:
                complaints.reopen(connection, incident)
                return None
        else:
            complaints.close(connection, incident, incidents.ComplaintState.JUDGED)
        return self.settled(None)

    def settled(self, found: Investigated | None) -> incidents.TaughtEvent | None:
        """Decide, and write what is new."""
        event = self._on_record(found)
        if event is None:
            return None
        # Read first: a complaint that comes in meanwhile may not be counted here, so it stays open.
        seen = complaints.waiting(self.connection, event.incident)
        people = senders.senders_of(self.connection, self.complaint.query_id, self.complaint.answer)
        trusts = {name: record.without_waiting() for name, record in people.items()}
        status, detail = status_of(event, trusts, self.incident.decision, self.rules)
        settled = replace(event, status=status, detail=detail, senders=len(trusts))
        if self._tells_more(settled):
            settled = replace(settled, revision=self.incident.revision + 1)
            store.write_event(self.connection, settled)
            insert_records(self.connection, [outbox_record(settled, lane=LANE)])
        self._carry_out(settled)
        complaints.close(
            self.connection, settled.incident, incidents.ComplaintState.JUDGED, seen=seen
        )
        return settled

    def _tells_more(self, settled: incidents.TaughtEvent) -> bool:
        """Whether consumers need an event; one more sender alone is no reason for one."""
        known = self.incident.event
        return (
            known is None
            or (settled.model_erred and not known.model_erred)
            or settled != replace(known, senders=settled.senders, detail=settled.detail)
        )

    def _on_record(self, found: Investigated | None) -> incidents.TaughtEvent | None:
        """Return the stored event, or the new one where none is stored that looked for texts."""
        stored = self.incident.event
        if found is None or (stored is not None and stored.finding is not None):
            return stored
        quarantine.put(self.connection, [self._quarantined(d) for d in found.flagged])
        store.note_attribution(
            self.connection,
            found.event.incident,
            at_ms=found.at_ms,
            model_calls=found.model_calls,
            reserved=found.reserved,
        )
        return found.event

    def _quarantined(self, document: Document) -> Mapping[str, Any]:
        return {
            "incident": self.complaint.incident,
            "text_key": incidents.text_key(document),
            "query_id": self.complaint.query_id,
            "content_id": document.content_id,
            "url": document.url,
            "title": document.title,
            "excerpt": excerpt(document),
            "updated_ms": self.now_ms,
        }

    def _carry_out(self, event: incidents.TaughtEvent) -> None:
        known = self.incident.event
        quarantine.switch(
            self.connection,
            event.incident,
            active=event.status in incidents.REMOVING,
            everywhere=event.status is incidents.Status.APPROVED and self.incident.everywhere,
            now_ms=self.now_ms,
        )
        if is_wrong(event) and not (known and is_wrong(known)):
            # A memory that believes the answer would repeat it, and with none of its texts left.
            memory.unlearn(self.connection, event.query_id, event.answer)


def is_wrong(event: incidents.TaughtEvent) -> bool:
    """Whether the answer is held to be wrong: its texts are removed, or the model erred."""
    return event.status in incidents.REMOVING or event.model_erred


def excerpt(document: Document) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(document.text[: 4 * EXCERPT_CHARACTERS].split())
    return words if len(words) <= EXCERPT_CHARACTERS else f"{words[: EXCERPT_CHARACTERS - 1]}…"
