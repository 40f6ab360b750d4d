"""Deep attribution, off the hot path: one reported answer after the other, within a budget.

    reports' topic -> reports -> investigation (models) -> settled (one transaction) -> published

Everything that must not be lost or doubled is in the state database. Killed at any point, the next
start attributes at most one answer again; its event and its quarantine are written once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import perf_counter
from typing import Any, Protocol

import structlog
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import cases, origins, reports
from radarstream.connectors.state_table.incidents.cases import Case
from radarstream.connectors.state_table.incidents.reports import StoredReport
from radarstream.connectors.state_table.sources import ledger as sources
from radarstream.defenses.attribution.protocol import Attributor
from radarstream.pipelines.job.answering.ports import Clock
from radarstream.pipelines.job.failures import kind_of
from radarstream.pipelines.job.incidents.budget import Budget
from radarstream.pipelines.job.incidents.settling import Finding, Policy, excerpt, settle
from radarstream.pipelines.settings import AttributionSettings
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.investigation import (
    Inquiry,
    Investigation,
    agrees,
    investigating,
)
from radarstream.pipelines.signals.long_form import in_its_form
from radarstream.pipelines.signals.metering import CallCounts
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.errors import EvidenceError, ModelError, ModelOutageError
from radarstream.schemas.reports import (
    PIPELINE,
    Decision,
    OriginEvent,
    OriginText,
    ReportState,
    Word,
)
from radarstream.schemas.times import milliseconds

log = structlog.get_logger("radarstream")

# Question, ids to leave out -> texts of the corpus, nearest first.
CorpusSearch = Callable[[str, Sequence[str]], list[RankedText]]


class AttributionObserver(Protocol):
    """Hears what became of reports; must not raise."""

    def settled(self, event: OriginEvent, seconds: float | None) -> None:
        """Tell a decision; `seconds` only where models were asked."""
        ...

    def failed(self, error: str) -> None:
        """Tell that an attribution failed, by the class of the error."""
        ...


@dataclass
class Attributing:
    """Takes open reports from the database, the most urgent first (see `report_queue`)."""

    engine: Engine
    models: Models
    attributor: Attributor
    settings: AttributionSettings
    policy: Policy
    clock: Clock
    observer: AttributionObserver
    search: CorpusSearch | None = None

    def step(self) -> bool:
        """Bring one report to its end, or count its failure; False when nothing can be done now.

        Raises ModelOutageError when a model's service is away: the report waits.
        """
        turn = self.budget.next_turn()
        if turn is None:
            return False
        report = turn.report
        origin = origins.look(self.engine, report.misgeneration)
        word = origin.word if origin else None
        event = origin.event if origin else None
        insist = word == Word.APPROVED
        known = event is not None and (event.finding is not None or not insist)
        suspected = report.reporter == PIPELINE and word is None
        if (known and not suspected) or (word is not None and not insist):
            self.settle(report, None)
        else:
            self.attribute(report, insist=insist, known=known, reserved=turn.reserved)
        return True

    @property
    def budget(self) -> Budget:
        """Whose turn it is, within the limits of the settings."""
        return Budget(self.engine, self.settings, self.policy.protection, self.clock)

    def attribute(
        self, report: StoredReport, *, insist: bool, known: bool = False, reserved: bool = False
    ) -> None:
        """Ask the models about one wrong answer and settle what they say, or what is `known`."""
        case = cases.find_case(self.engine, report.query_id, report.step)
        if case is None:
            self.close(report, ReportState.UNUSABLE, "what the answer was made of is not kept")
            return
        started, before = perf_counter(), self.calls
        try:
            own = report.reporter == PIPELINE and not insist
            if own and self.harmless(report, case):
                harmless = "means the same as the answer that was kept"
                self.close(report, ReportState.JUDGED, harmless, alone=True)
                return
            if known:
                self.settle(report, None)
                return
            found = self.investigated(report, case, insist=insist)
        except ModelOutageError:
            raise
        except Exception as error:
            told = isinstance(error, ModelError | EvidenceError)
            if not told and kind_of(error) != "defect":
                raise
            self.failed(report, error, self.calls - before, reserved=reserved)
            return
        finding = Finding(
            event=event_of(report, case, found),
            flagged=tuple(t.document for t in found.texts if t.id in flagged_ids(found)),
            at_ms=milliseconds(self.clock.now()),
            model_calls=self.calls - before,
            reserved=reserved,
        )
        self.settle(report, finding, perf_counter() - started)

    def failed(self, report: StoredReport, error: Exception, calls: int, *, reserved: bool) -> None:
        """Count a failure, which costs like a success; a report that always fails is given up."""
        log.warning("attribution failed", query_id=report.query_id, error=error)
        self.observer.failed(type(error).__name__)
        with self.engine.begin() as connection:
            origins.hold(connection, report.misgeneration, report.query_id, report.step)
            at_ms = milliseconds(self.clock.now())
            origins.note_attribution(
                connection,
                report.misgeneration,
                at_ms=at_ms,
                model_calls=calls,
                reserved=reserved,
            )
        detail = f"the attribution failed: {type(error).__name__}"
        reports.note_failure(self.engine, report, detail, attempts=self.settings.attempts)

    def harmless(self, report: StoredReport, case: Case) -> bool:
        """Whether what the pipeline suspects means the same as what took its place."""
        later = cases.find_case(self.engine, report.query_id, report.step + 1)
        averted = report.answer != case.answer
        instead = case.answer if averted else later.answer if later else ""
        inquiry = Inquiry(case.snapshot, report.answer)
        return bool(self.driven(agrees(inquiry, (instead,), both_ways=True), case))

    def investigated(self, report: StoredReport, case: Case, *, insist: bool) -> Investigation:
        """Run the investigation; raises the ModelError it ends with."""
        inquiry = Inquiry(
            snapshot=case.snapshot,
            answer=report.answer,
            recorded=tuple(answer for answer in (case.answer, case.undefended) if answer),
            further=self.further(case),
            insist=insist,
        )
        found: Investigation = self.driven(investigating(inquiry, self.attributor), case)
        return found

    def further(self, case: Case) -> tuple[RankedText, ...]:
        """What the corpus has on the question beside the case's own documents."""
        if self.search is None:
            return ()
        own = [document.content_id for document in case.snapshot.documents]
        return tuple(self.search(case.snapshot.query.text, own))

    def driven(self, method: Any, case: Case) -> Any:
        """Run one generator to its result, answers as long as the case's query wants them.

        Raises the ModelError it ends with.
        """
        (outcome,) = in_its_form(
            [method], lambda _: case.snapshot.query.long_form, drive, self.models
        )
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def settle(
        self, report: StoredReport, finding: Finding | None, seconds: float | None = None
    ) -> None:
        """Write what follows, and tell it."""
        now_ms = milliseconds(self.clock.now())
        event = settle(self.engine, report, self.policy, now_ms=now_ms, finding=finding)
        if event is None:  # a person's word came before the attribution
            self.close(report, ReportState.JUDGED, "a person judged it")
            return
        self.observer.settled(event, seconds)
        log.info(
            "attributed",
            query_id=event.query_id,
            step=event.step,
            misgeneration=event.misgeneration,
            decision=event.decision.value,
            finding=event.finding.value if event.finding else None,
            flagged=len(event.flagged),
            reporters=event.reporters,
            seconds=None if seconds is None else round(seconds, 3),
        )

    def close(
        self, report: StoredReport, state: ReportState, detail: str, *, alone: bool = False
    ) -> None:
        """End the wait of a wrong answer's reports, or of this one `alone`, without an event."""
        seen = [report] if alone else None
        with self.engine.begin() as connection:
            reports.close(connection, report.misgeneration, state, detail, seen)
        log.info("report closed", query_id=report.query_id, state=state.value, detail=detail)

    def prune(self) -> None:
        """Give up what waited for long enough, and delete what was kept for long enough."""
        now, days = self.clock.now(), self.settings.retention_days
        waited = self.settings.open_days
        waits_since = milliseconds(now - timedelta(days=waited))
        reports.expire(self.engine, waits_since, f"nobody got round to it in {waited:g} days")
        cases.prune_cases(self.engine, days=self.settings.case_days)
        before_ms = milliseconds(now - timedelta(days=days))
        reports.prune_reports(self.engine, before_ms, own_open=self.settings.open_reports)
        # Last: what is said of a source stays as long as the wrong answer is on record.
        sources.prune_events(self.engine, days=days, now_ms=milliseconds(now))

    @property
    def calls(self) -> int:
        """Requests that reached the generator or its token probabilities so far."""
        counted: tuple[object, ...] = (self.models.generator, self.models.tokens)
        return sum(model.calls for model in counted if isinstance(model, CallCounts))


def event_of(report: StoredReport, case: Case, found: Investigation) -> OriginEvent:
    """The event of an investigation, its decision still to come."""
    attribution = found.attribution
    snapshot = case.snapshot
    places = {d.content_id: d.rank for d in reversed(snapshot.documents)}
    texts = {text.id: text for text in found.texts}
    scores = attribution.texts if attribution else ()
    return OriginEvent(
        query_id=case.query_id,
        question=snapshot.query.text,
        step=case.step,
        snapshot_id=snapshot.id,
        observed_at=snapshot.observed_at,
        misgeneration=report.misgeneration,
        revision=0,
        answer=report.answer,
        defended_answer=case.answer,
        undefended_answer=case.undefended,
        reporters=0,
        self_detected=False,
        decision=Decision.UNVERIFIED,
        attributor=attribution.method if attribution else "",
        reproduced=found.reproduced,
        finding=attribution.finding if attribution else None,
        texts=tuple(
            OriginText(
                id=score.id,
                rank=score.rank,
                flagged=score.flagged,
                url=texts[score.id].document.url,
                title=texts[score.id].document.title,
                excerpt=excerpt(texts[score.id].document),
                search_rank=places.get(score.id),
                score=score.score,
                similarity=score.similarity,
                semantic=score.semantic,
                generation=score.generation,
            )
            for score in scores
        ),
        gap=attribution.gap if attribution else None,
        generation_gap=attribution.generation_gap if attribution else None,
        answer_without=found.answer_without,
        persists=found.persists,
        tags=snapshot.query.tags,
    )


def flagged_ids(found: Investigation) -> frozenset[str]:
    """Ids of the texts that taught the answer."""
    return frozenset(found.attribution.flagged if found.attribution else ())
