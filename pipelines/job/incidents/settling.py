"""What follows from a wrong answer: one transaction for status, event, quarantine and ledger.

An incident is settled again whenever something about it changes. Killed before the commit, nothing
has happened; killed after it, settling again finds nothing to change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import complaints, quarantine, senders, store
from radarstream.connectors.state_table.queries import memory
from radarstream.connectors.state_table.queries.outbox import insert_records
from radarstream.connectors.state_table.sources import ledger as sources
from radarstream.defenses.attribution.protection import Rules, doubt, status_of
from radarstream.pipelines.job.incidents.intake import trust_to_decide
from radarstream.pipelines.settings import Settings, SourceSettings
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.incidents import (
    PIPELINE,
    REMOVING,
    AttributedText,
    ComplaintState,
    Decision,
    Status,
    TaughtEvent,
    text_key,
)
from radarstream.schemas.sites import key_of
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import EventKind, SourceEvent
from radarstream.schemas.times import milliseconds

EXCERPT_CHARACTERS = 300
Beside = Callable[[Connection], None]  # what is written in the transaction of a decision
LANE = -1  # of the outbox: published by the attribution worker alone, in the order of revisions


@dataclass(frozen=True, slots=True)
class Investigated:
    """A finished investigation: its event, the texts it flags, what it cost.

    `reserved`: the reserved half of the budget paid.
    """

    event: TaughtEvent
    flagged: tuple[Document, ...]
    at_ms: int
    model_calls: int
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """What may follow from a complaint, and how the ledger of sources counts it."""

    protection: Rules = Rules()
    sources: SourceSettings = SourceSettings()


def policy_of(settings: Settings) -> Policy:
    """The policy of the settings."""
    return Policy(settings.attribution, settings.sources)


def settle(
    engine: Engine,
    complaint: complaints.StoredComplaint,
    policy: Policy,
    *,
    now_ms: int,
    found: Investigated | None = None,
) -> TaughtEvent | None:
    """Settle an incident with what was just found out, or with what is on record.

    None when nothing was found out yet. Of two workers, the first one's result stays, unless it
    had looked for no texts.
    """
    if found is not None:
        # Up to a second of computing, which is remembered: others need not wait for it to write.
        doubt(found.event, policy.protection)

    def work(connection: Connection) -> TaughtEvent | None:
        return Settlement(connection, complaint, policy, now_ms).settled(found)

    return in_transaction(engine, work)


def decide(
    engine: Engine,
    complaint: complaints.StoredComplaint,
    decision: Decision,
    policy: Policy,
    *,
    now_ms: int,
    everywhere: bool = False,
) -> TaughtEvent | None:
    """Write down a person's decision and what follows from it.

    None when the answer is not attributed yet; the decision then counts as soon as it is. An
    approved answer that could not be reproduced is attributed anew.
    """

    def work(connection: Connection) -> TaughtEvent | None:
        settlement = Settlement(connection, complaint, policy, now_ms)
        return settlement.decided(decision, everywhere=everywhere)

    return in_transaction(engine, work)


def release(
    engine: Engine,
    query_id: str,
    text_keys: Sequence[str] | None,
    policy: Policy,
    *,
    now_ms: int,
    beside: Sequence[Beside] = (),
) -> int:
    """Let texts of a query, or all it has in quarantine, back in; return how many were held.

    Their sources get back what the ledger has against them for the same wrong answer, unless
    another flagged text of theirs is not released. One transaction per incident; `beside` run in
    each that lets a text in.
    """

    def work(incident: str, connection: Connection) -> int:
        known = store.look(engine, incident)
        event = known.event if known else None
        if event is not None:  # others who settle it wait
            store.hold(connection, incident, event.query_id, event.step)
        freed = quarantine.release(connection, incident, text_keys, now_ms)
        for write in beside if freed else ():
            write(connection)
        if event is not None:
            held = {source_of(text, policy) for text in not_released(connection, event)}
            gone = frozenset(source_of(text, policy) for text in event.flagged) - held
            sources.retract(connection, [incident], policy.sources, domains=gone)
        return freed

    return sum(
        in_transaction(engine, partial(work, incident))
        for incident in quarantine.holders_of(engine, query_id, text_keys)
    )


@dataclass
class Settlement:
    """One transaction about one incident, whose row it holds."""

    connection: Connection
    complaint: complaints.StoredComplaint
    policy: Policy
    now_ms: int
    incident: store.Incident = field(init=False)

    def __post_init__(self) -> None:
        told = self.complaint
        self.incident = store.hold(self.connection, told.incident, told.query_id, told.step)

    def decided(self, decision: Decision, *, everywhere: bool) -> TaughtEvent | None:
        """Write a person's decision, and settle what is on record."""
        connection, incident = self.connection, self.complaint.incident
        store.decide(connection, incident, decision, everywhere=everywhere, at_ms=self.now_ms)
        event = self.incident.event
        if decision == Decision.MODEL_ERRED and event is None:  # else when settled
            memory.unlearn(connection, self.complaint.query_id, self.complaint.answer)
        self.incident = replace(self.incident, decision=decision, everywhere=everywhere)
        if decision == Decision.APPROVED:
            quarantine.hold_all(connection, incident)
            if event is None or event.finding is None:
                complaints.reopen(connection, incident)
                return None
        else:
            complaints.close(connection, incident, ComplaintState.JUDGED)
        return self.settled(None)

    def settled(self, found: Investigated | None) -> TaughtEvent | None:
        """Decide, and write what is new."""
        event = self._on_record(found)
        if event is None:
            return None
        # Read first: a complaint that comes in meanwhile may not be counted here, so it stays open.
        seen = complaints.waiting(self.connection, event.incident)
        people = senders.senders_of(self.connection, self.complaint.query_id, self.complaint.answer)
        trusts = {name: trust_to_decide(record) for name, record in people.items()}
        status, detail = status_of(event, trusts, self.incident.decision, self.policy.protection)
        settled = replace(
            event,
            status=status,
            detail=detail,
            senders=len(trusts.keys() - {PIPELINE}),
            self_detected=PIPELINE in trusts,
        )
        if self._tells_more(settled):
            settled = replace(settled, revision=self.incident.revision + 1)
            store.write_event(self.connection, settled)
            insert_records(self.connection, [outbox_record(settled, lane=LANE)])
        self._carry_out(settled)
        complaints.close(self.connection, settled.incident, ComplaintState.JUDGED, seen=seen)
        return settled

    def _tells_more(self, settled: TaughtEvent) -> bool:
        """Whether consumers need an event; one more sender alone is no reason for one."""
        known = self.incident.event
        return (
            known is None
            or (settled.model_erred and not known.model_erred)
            or settled != replace(known, senders=settled.senders, detail=settled.detail)
        )

    def _on_record(self, found: Investigated | None) -> TaughtEvent | None:
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
            "text_key": text_key(document),
            "query_id": self.complaint.query_id,
            "content_id": document.content_id,
            "url": document.url,
            "title": document.title,
            "excerpt": excerpt(document),
            "updated_ms": self.now_ms,
        }

    def _carry_out(self, event: TaughtEvent) -> None:
        known = self.incident.event
        before = known.status if known else None
        quarantine.switch(
            self.connection,
            event.incident,
            active=event.status in REMOVING,
            everywhere=event.status is Status.APPROVED and self.incident.everywhere,
            now_ms=self.now_ms,
        )
        if is_wrong(event) and not (known and is_wrong(known)):
            # A memory that believes the answer would repeat it, and with none of its texts left.
            memory.unlearn(self.connection, event.query_id, event.answer)
        self._tell_ledger(event, before)

    def _tell_ledger(self, event: TaughtEvent, before: Status | None) -> None:
        """Count the flagged texts against their sources, or take that back.

        What people merely propose counts nothing, even where the pipeline had a suspicion that may
        have proved harmless: strangers could speak against any source.
        """
        if event.status in REMOVING:
            self._blame(event, EventKind.CONFIRMED)
        elif event.cleared or before in REMOVING:
            sources.retract(self.connection, [event.incident], self.policy.sources)
        elif event.status is Status.PROPOSED and self.complaint.sender == PIPELINE:
            self._blame(event, EventKind.DETECTED)

    def _blame(self, event: TaughtEvent, kind: EventKind) -> None:
        blamed = [
            SourceEvent(
                event=event.incident,
                domain=source_of(text, self.policy),
                kind=kind,
                at_ms=milliseconds(event.observed_at),
                query_id=event.query_id,
                step=event.step,
                text_id=text.id,
                claim=event.answer,
            )
            for text in not_released(self.connection, event)
        ]
        sources.record(self.connection, blamed, self.policy.sources)


def is_wrong(event: TaughtEvent) -> bool:
    """Whether the answer is held to be wrong: its texts are removed, or the model erred."""
    return event.status in REMOVING or event.model_erred


def excerpt(document: Document) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(document.text[: 4 * EXCERPT_CHARACTERS].split())
    return words if len(words) <= EXCERPT_CHARACTERS else f"{words[: EXCERPT_CHARACTERS - 1]}…"


def source_of(text: AttributedText, policy: Policy) -> str:
    """Return the source of a text; "" without an address."""
    return key_of(Document(text.rank, "", url=text.url), policy.sources.granularity)


def not_released(connection: Connection, event: TaughtEvent) -> list[AttributedText]:
    """Return the flagged texts that no person let back in.

    Quarantine has one row for the same words at several addresses: a text without a row of its own
    goes with those that begin like it.
    """
    released: dict[str, bool] = {}
    alike: dict[tuple[str, str], bool] = {}
    for row in quarantine.texts_of(connection, event.incident):
        begins = (row["title"].casefold(), row["excerpt"].casefold())
        released[row["content_id"]] = row["released"]
        alike[begins] = row["released"] and alike.get(begins, True)
    return [
        text
        for text in event.flagged
        if not released.get(
            text.id, alike.get((text.title.casefold(), text.excerpt.casefold()), False)
        )
    ]
