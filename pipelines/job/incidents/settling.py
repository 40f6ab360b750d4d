"""What follows from a wrong answer: one transaction for decision, event, quarantine and ledger.

Settling is repeated whenever something about a wrong answer changes: it was attributed, somebody
else reported it, a person gave their word. Killed before the commit, nothing has happened; killed
after it, settling again finds nothing to change.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.incidents import (
    origins,
    quarantine,
    report_standing,
    reports,
)
from radarstream.connectors.state_table.queries import memory
from radarstream.connectors.state_table.queries.outbox import insert_records
from radarstream.connectors.state_table.sources import ledger as sources
from radarstream.defenses.attribution.protection import Rules, decide, doubt
from radarstream.pipelines.job.incidents.blame import evidence, not_released, sources_of
from radarstream.pipelines.job.incidents.reporting import trust_to_decide
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.reports import (
    PIPELINE,
    REMOVING,
    Decision,
    OriginEvent,
    ReportState,
    Word,
    text_key,
)
from radarstream.schemas.sites import Granularity
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import EventKind, LedgerRules

EXCERPT_CHARACTERS = 300
LANE = -1  # of the outbox: published by the attribution worker alone, in the order of decisions


@dataclass(frozen=True, slots=True)
class Finding:
    """A finished investigation, to be settled: its event, the texts it flags, what it cost.

    `reserved` tells which half of the budget paid.
    """

    event: OriginEvent
    flagged: tuple[Document, ...]
    at_ms: int
    model_calls: int
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """What may follow from a report, and how the ledger of sources counts it."""

    protection: Rules = Rules()
    ledger: LedgerRules = LedgerRules()
    granularity: Granularity = "site"


def policy_of(settings: Settings) -> Policy:
    """The policy of the settings."""
    return Policy(settings.attribution, settings.sources, settings.sources.granularity)


def settle(
    engine: Engine,
    report: reports.StoredReport,
    policy: Policy,
    *,
    now_ms: int,
    finding: Finding | None = None,
) -> OriginEvent | None:
    """Decide about a reported answer, with what was just found out or what is on record.

    None when nothing was found out yet. Of two workers that attributed the same answer, the
    first one's finding stays, unless it had looked for no texts.
    """
    if finding is not None:
        # Up to a second of computing, which is remembered: others need not wait for it to write.
        doubt(finding.event, policy.protection)

    def work() -> OriginEvent | None:
        with engine.begin() as connection:
            return Settlement(connection, report, policy, now_ms).settled(finding)

    return retry_contended(work)


def give_word(
    engine: Engine,
    report: reports.StoredReport,
    word: Word,
    policy: Policy,
    *,
    now_ms: int,
    everywhere: bool = False,
) -> OriginEvent | None:
    """Write down a person's word and what follows from it.

    None when the answer is still to be attributed; the word then counts at once when it is. An
    approved answer that could not be reproduced is attributed anew.
    """

    def work() -> OriginEvent | None:
        with engine.begin() as connection:
            settlement = Settlement(connection, report, policy, now_ms)
            origins.give_word(
                connection, report.misgeneration, word, everywhere=everywhere, at_ms=now_ms
            )
            if word == Word.MODEL_ERRED and settlement.origin.event is None:
                memory.unlearn(connection, report.query_id, report.answer)  # else when settled
            settlement.origin = replace(settlement.origin, word=word, everywhere=everywhere)
            event = settlement.origin.event
            if word == Word.APPROVED:
                quarantine.hold_all(connection, report.misgeneration)
            if word == Word.APPROVED and (event is None or event.finding is None):
                reports.reopen(connection, report.misgeneration)
                return None
            if word != Word.APPROVED:
                reports.close(connection, report.misgeneration, ReportState.JUDGED)
            return settlement.settled(None)

    return retry_contended(work)


def release(
    engine: Engine, query_id: str, text_keys: Sequence[str] | None, policy: Policy, *, now_ms: int
) -> int:
    """Let texts of a query, or all it has in quarantine, back in; return how many were held.

    Their sources get back what the ledger has against them for the same wrong answer, unless
    another flagged text of theirs is not released. One transaction per wrong answer.
    """

    def work(misgeneration: str) -> int:
        origin = origins.look(engine, misgeneration)
        event = origin.event if origin else None
        with engine.begin() as connection:
            if event is not None:  # others who settle it wait
                origins.hold(connection, misgeneration, event.query_id, event.step)
            freed = quarantine.release(connection, misgeneration, text_keys, now_ms)
            if event is not None:
                flagged = sources_of(event.flagged, policy.granularity)
                kept = sources_of(not_released(connection, event), policy.granularity)
                gone = flagged - kept
                sources.retract(connection, [misgeneration], policy.ledger, domains=gone)
            return freed

    return sum(
        retry_contended(partial(work, misgeneration))
        for misgeneration in quarantine.holders_of(engine, query_id, text_keys)
    )


class Settlement:
    """One transaction about one wrong answer."""

    def __init__(
        self, connection: Connection, report: reports.StoredReport, policy: Policy, now_ms: int
    ) -> None:
        self.connection, self.report, self.policy, self.now_ms = connection, report, policy, now_ms
        self.origin = origins.hold(connection, report.misgeneration, report.query_id, report.step)

    def settled(self, finding: Finding | None) -> OriginEvent | None:
        """Decide, and write what is new."""
        event = self.on_record(finding)
        if event is None:
            return None
        # Read first: a report that comes in meanwhile may not be counted here, so it stays open.
        seen = reports.waiting(self.connection, event.misgeneration)
        reporters = report_standing.reporters_of(
            self.connection, self.report.query_id, self.report.answer
        )
        trusts = {name: trust_to_decide(standing) for name, standing in reporters.items()}
        decision, detail = decide(event, trusts, self.origin.word, self.policy.protection)
        settled = replace(
            event,
            decision=decision,
            detail=detail,
            reporters=len(trusts.keys() - {PIPELINE}),
            self_detected=PIPELINE in trusts,
        )
        if self.tells_more(settled):
            settled = replace(settled, revision=self.origin.revision + 1)
            origins.write_event(self.connection, settled)
            insert_records(self.connection, [outbox_record(settled, lane=LANE)])
        self.carry_out(settled)
        reports.close(self.connection, settled.misgeneration, ReportState.JUDGED, seen=seen)
        return settled

    def tells_more(self, settled: OriginEvent) -> bool:
        """Whether consumers must hear of it; one more stranger who changes nothing is no news."""
        known = self.origin.event
        if known is None or settled.decision is not known.decision:
            return True
        if settled.model_erred and not known.model_erred:
            return True
        return settled != replace(known, reporters=settled.reporters, detail=settled.detail)

    def on_record(self, finding: Finding | None) -> OriginEvent | None:
        """What is known: the stored event, or the new finding where there is none worth keeping."""
        stored = self.origin.event
        if finding is None or (stored is not None and stored.finding is not None):
            return stored
        quarantine.put(self.connection, [self.quarantined(d) for d in finding.flagged])
        origins.note_attribution(
            self.connection,
            finding.event.misgeneration,
            at_ms=finding.at_ms,
            model_calls=finding.model_calls,
            reserved=finding.reserved,
        )
        return finding.event

    def quarantined(self, document: Document) -> Mapping[str, Any]:
        """A text's row."""
        return {
            "misgeneration": self.report.misgeneration,
            "text_key": text_key(document),
            "query_id": self.report.query_id,
            "content_id": document.content_id,
            "url": document.url,
            "title": document.title,
            "excerpt": excerpt(document),
            "updated_ms": self.now_ms,
        }

    def carry_out(self, event: OriginEvent) -> None:
        """Begin or end the quarantine, unlearn the answer once, and tell the ledger of sources."""
        known = self.origin.event
        before = known.decision if known else None
        quarantine.switch(
            self.connection,
            event.misgeneration,
            active=event.decision in REMOVING,
            everywhere=event.decision is Decision.APPROVED and self.origin.everywhere,
            now_ms=self.now_ms,
        )
        if is_wrong(event) and not (known and is_wrong(known)):
            # A memory that believes the answer would repeat it, and with none of its texts left.
            memory.unlearn(self.connection, event.query_id, event.answer)
        self.tell_ledger(event, before)

    def tell_ledger(self, event: OriginEvent, before: Decision | None) -> None:
        """Count the flagged texts against their sources, or take that back.

        What people merely propose counts nothing, even where the pipeline had a suspicion that may
        have proved harmless: strangers could speak against any source.
        """
        if event.decision in REMOVING:
            self.blame(event, EventKind.CONFIRMED)
        elif event.cleared or before in REMOVING:
            sources.retract(self.connection, [event.misgeneration], self.policy.ledger)
        elif event.decision is Decision.PROPOSED and self.report.reporter == PIPELINE:
            self.blame(event, EventKind.DETECTED)

    def blame(self, event: OriginEvent, kind: EventKind) -> None:
        """Count the texts that were not released against their sources."""
        told = evidence(self.connection, event, kind, self.policy.granularity)
        sources.record(self.connection, told, self.policy.ledger)


def is_wrong(event: OriginEvent) -> bool:
    """Whether the answer is held to be wrong: its texts are removed, or the model erred."""
    return event.decision in REMOVING or event.model_erred


def excerpt(document: Document) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(document.text[: 4 * EXCERPT_CHARACTERS].split())
    return words if len(words) <= EXCERPT_CHARACTERS else f"{words[: EXCERPT_CHARACTERS - 1]}…"
