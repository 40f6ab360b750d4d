"""Settles incidents: writes status, event, quarantine and memory in one transaction. Also describes
to a person, before a decision, who complained and what an approval would remove.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import complaints, quarantine, senders, store
from radarstream.connectors.state_table.queries import memory
from radarstream.connectors.state_table.queries.outbox import insert_records
from radarstream.connectors.state_table.serving.action_log import write_action
from radarstream.defenses.attribution.protection import Rules, doubt, status_of
from radarstream.pipelines.pages.safe_text import written_address
from radarstream.schemas import incidents
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.incidents import REMOVING, Decision, SenderRecord
from radarstream.schemas.shown import one_line
from radarstream.schemas.snapshot import Document

EXCERPT_CHARACTERS = 300
LANE = -1  # of the outbox: published by the attribution worker alone, in the order of revisions


@dataclass(frozen=True, slots=True)
class Investigated:
    """A finished investigation and its cost, paid by the `reserved` half of the budget or not."""

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
    """Settle an incident by a new or else the stored result; None without either. Of two workers'
    results the first one that looked for texts stays.
    """
    if found is not None:
        # Takes up to a second and is cached: compute it before the transaction locks the row.
        doubt(found.event, rules)

    def work(connection: Connection) -> incidents.TaughtEvent | None:
        return Settlement(connection, complaint, rules, now_ms).settled(found)

    return in_transaction(engine, work)


def decide(  # noqa: PLR0913 what a decision is made of
    engine: Engine,
    complaint: complaints.StoredComplaint,
    decision: incidents.Decision,
    rules: Rules,
    *,
    now_ms: int,
    everywhere: bool = False,
    texts: Collection[str] | None = None,
    by: str = "",
) -> incidents.TaughtEvent | None:
    """Write a person's decision and its consequences; None if the answer is not attributed yet. An
    approved answer that could not be reproduced is attributed again. `by` is the person's name for
    the action log; without it, no entry is made.
    """

    def work(connection: Connection) -> incidents.TaughtEvent | None:
        settlement = Settlement(connection, complaint, rules, now_ms)
        event = settlement.decided(decision, everywhere=everywhere, texts=texts)
        if by:
            write_action(connection, at_ms=now_ms, user=by, action=NAMES[decision],
                         target=complaint.incident, detail=settlement.deed())  # fmt: skip
        return event

    return in_transaction(engine, work)


@dataclass
class Settlement:
    """One transaction about one incident, whose row it locks."""

    connection: Connection
    complaint: complaints.StoredComplaint
    rules: Rules
    now_ms: int
    incident: store.Incident = field(init=False)

    def __post_init__(self) -> None:
        about = self.complaint
        self.incident = store.hold(self.connection, about.incident, about.query_id, about.step)

    def decided(
        self,
        decision: incidents.Decision,
        *,
        everywhere: bool,
        texts: Collection[str] | None = None,
    ) -> incidents.TaughtEvent | None:
        """Write a person's decision, and settle the stored result. An approval removes the `texts`
        with these keys, None for all. Raises ConfigurationError for unknown keys or an empty list.
        """
        connection, incident = self.connection, self.complaint.incident
        if texts is not None:
            texts_apart(self._texts(), texts)
        store.decide(connection, incident, decision, everywhere=everywhere, at_ms=self.now_ms)
        event = self.incident.event
        if decision == incidents.Decision.MODEL_ERRED and event is None:  # else when settled
            memory.unlearn(connection, self.complaint.query_id, self.complaint.answer)
        self.incident = replace(self.incident, decision=decision, everywhere=everywhere)
        if decision == incidents.Decision.APPROVED:
            quarantine.choose(connection, incident, texts)
            if event is None or event.finding is None:
                complaints.reopen(connection, incident)
                return None
        else:
            complaints.close(connection, incident, incidents.ComplaintState.JUDGED)
        return self.settled(None)

    def settled(self, found: Investigated | None) -> incidents.TaughtEvent | None:
        """Determine the status, and write an event if consumers need one."""
        event = self._on_record(found)
        if event is None:
            return None
        # Read first: a complaint that arrives later may not be counted, so it stays open.
        seen = complaints.waiting(self.connection, event.incident)
        people = senders.senders_of(self.connection, self.complaint.query_id, self.complaint.answer)
        trusts = {name: record.without_waiting() for name, record in people.items()}
        status, detail = status_of(event, trusts, self.incident.decision, self.rules)
        left_in = quarantine.let_in(event.flagged, self._texts()) if status in REMOVING else ()
        settled = replace(event, status=status, detail=detail, senders=len(trusts), left_in=left_in)
        if self._tells_more(settled):
            settled = replace(settled, revision=self.incident.revision + 1)
            store.write_event(self.connection, settled)
            insert_records(self.connection, [outbox_record(settled, lane=LANE)])
        self._carry_out(settled)
        complaints.close(
            self.connection, settled.incident, incidents.ComplaintState.JUDGED, seen=seen
        )
        return settled

    def _texts(self) -> list[dict[str, Any]]:
        return quarantine.texts_of(self.connection, self.complaint.incident)

    def deed(self) -> str:
        """Describe the decision and the texts that it does not remove."""
        about, decision = self.complaint, self.incident.decision
        scope = ", for all queries" if self.incident.everywhere else ""
        said = f"{one_line(about.query_id, TEXT_CHARACTERS)}: "
        said += f"{one_line(about.answer, TEXT_CHARACTERS)!r} is"
        left = [row for row in self._texts() if row["released"]]
        kept = f"; left in: {named_texts(left)}" if decision is Decision.APPROVED and left else ""
        return f"{said} {MEANING[decision] if decision else 'open'}{scope}{kept}"

    def _tells_more(self, settled: incidents.TaughtEvent) -> bool:
        """Whether consumers need an event; not if only the senders changed."""
        known = self.incident.event
        return (
            known is None
            or (settled.model_erred and not known.model_erred)
            or settled != replace(known, senders=settled.senders, detail=settled.detail)
        )

    def _on_record(self, found: Investigated | None) -> incidents.TaughtEvent | None:
        """The stored event if it looked for texts, else the new one."""
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
            # The memory would repeat the answer even without its texts.
            memory.unlearn(self.connection, event.query_id, event.answer)


def is_wrong(event: incidents.TaughtEvent) -> bool:
    """Whether the answer counts as wrong: its texts are removed, or the model erred."""
    return event.status in incidents.REMOVING or event.model_erred


def excerpt(document: Document) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(document.text[: 4 * EXCERPT_CHARACTERS].split())
    return words if len(words) <= EXCERPT_CHARACTERS else f"{words[: EXCERPT_CHARACTERS - 1]}…"


MEANING: Final = {
    Decision.APPROVED: "wrong",
    Decision.DISMISSED: "not wrong",
    Decision.MODEL_ERRED: "wrong, and that no source is to blame",
}
NAMES: Final = {  # of decisions, in commands and in the action log
    Decision.APPROVED: "approve",
    Decision.DISMISSED: "dismiss",
    Decision.MODEL_ERRED: "model-erred",
}
NAMED: Final = 20  # senders and texts that are named
NAMED_IN_JSON: Final = 1_000
NAME_CHARACTERS: Final = 40
TEXT_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Senders:
    """Everybody who complained about an answer of a query, at any step; trusted ones first."""

    trusted: Mapping[str, SenderRecord]
    others: Mapping[str, SenderRecord]

    @property
    def words(self) -> str:
        """The number of senders of each kind that occurs, in words."""
        counts = ((len(self.trusted), "trusted"), (len(self.others), "other"))
        return ", ".join(f"{count} {kind}" for count, kind in counts if count)

    @property
    def counts(self) -> dict[str, Any]:
        """The number of senders of each kind, as JSON values."""
        return {"trusted": len(self.trusted), "other": len(self.others)}

    @property
    def names(self) -> list[dict[str, Any]]:
        """The first `NAMED_IN_JSON` senders with their records, as JSON values."""
        everybody = [
            {
                "name": name,
                "trusted": kind is self.trusted,
                "confirmed": record.confirmed,
                "dismissed": record.dismissed,
                "unconfirmed": record.unconfirmed + record.waiting,
            }
            for kind in (self.trusted, self.others)
            for name, record in sorted(kind.items())
        ]
        return everybody[:NAMED_IN_JSON]

    def line(self) -> str:
        """The names of the first `NAMED` senders, and the number of others."""
        names = [*sorted(self.trusted), *sorted(self.others)]
        shown = [one_line(name, NAME_CHARACTERS) for name in names[:NAMED]]
        shown += [f"and {len(names) - NAMED} more"] if names[NAMED:] else []
        return f"{self.words}: {', '.join(shown)}" if shown else self.words


def senders_of(engine: Engine, row: Mapping[str, Any], rules: Rules) -> Senders:
    """Find the senders who complained about an incident's answer."""
    with engine.connect() as connection:
        found = senders.senders_of(connection, row["query_id"], row["answer"])
    trusted = {n: r for n, r in found.items() if r.without_waiting().trusted(rules.trusted_after)}
    others = {name: record for name, record in found.items() if name not in trusted}
    return Senders(trusted, others)


def consequences(
    engine: Engine,
    incident: str,
    decision: Decision,
    rules: Rules,
    texts: Collection[str] | None = None,
) -> tuple[str, str, str]:
    """Describe a decision's consequences in three sentences, about the answer, its texts (`texts`
    are the keys that an approval removes, None for all) and the trust in the senders. Raises
    ConfigurationError for unknown keys.
    """
    outcome = "Texts that are held for it are let back in."
    if decision is Decision.APPROVED:
        outcome = removal(engine, incident, rules, texts)
    trust = "loses" if decision is Decision.DISMISSED else "gains"
    said = f"You say that this answer is {MEANING[decision]}."
    return said, outcome, f"Whoever complained {trust} trust."


def removal(
    engine: Engine, incident: str, rules: Rules, texts: Collection[str] | None = None
) -> str:
    """Name the texts that an approval of this incident removes, or say why it removes none."""
    known = store.look(engine, incident)
    event = known.event if known else None
    if event is None or event.finding is None:
        return "Its texts are not known yet: those that are found later will be left out."
    status, detail = status_of(event, {}, Decision.APPROVED, rules)
    if status not in REMOVING:
        return f"This leaves out no text: {detail}."
    with engine.connect() as connection:
        rows = quarantine.texts_of(connection, incident)
    return removal_in_words(*texts_apart(rows, texts))


def texts_apart(
    rows: Sequence[Mapping[str, Any]], texts: Collection[str] | None
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Split rows of the quarantine into those with these keys (None for all) and the others. Raises
    ConfigurationError for an empty list and unknown keys.
    """
    chosen = [row for row in rows if texts is None or row["text_key"] in texts]
    if texts is not None and not texts:
        raise ConfigurationError("no text is chosen: choose one, dismiss, or say the model erred")
    if texts is not None and len(chosen) < len(set(texts)):
        raise ConfigurationError("a text that was chosen is none of this incident")
    return chosen, [row for row in rows if row not in chosen]


def removal_in_words(
    rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Describe which texts of the quarantine are removed and which stay."""
    which = "1 text is" if len(rows) == 1 else f"{len(rows)} texts are"
    stay = f" These stay: {named_texts(others)}." if others else ""
    return f"{which} left out of snapshots of this query: {named_texts(rows)}.{stay}"


def named_texts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name the first `NAMED` texts of the quarantine by address, title or excerpt."""
    named = [
        one_line(written_address(row["url"]) or row["title"] or row["excerpt"], TEXT_CHARACTERS)
        for row in rows[:NAMED]
    ]
    more = f", and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return f"{'; '.join(named)}{more}"


def only_one(engine: Engine, named: str) -> dict[str, Any]:
    """The incident of an id's prefix. Raises NotFoundError, or ConfigurationError for several."""
    found = store.list_incidents(engine, limit=2, prefix=named) if named else []
    if not found:
        raise NotFoundError(f"no incident has an id that begins with {named!r}")
    if len(found) > 1:
        raise ConfigurationError(f"several incidents have an id that begins with {named!r}")
    return found[0]
