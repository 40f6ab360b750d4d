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

from connectors.state_table import cases, origins, reports, sources
from connectors.state_table.cases import Case
from connectors.state_table.reports import StoredReport
from defenses.attribution.protocol import Attributor
from pipelines.job.failures import kind_of
from pipelines.job.ports import Clock
from pipelines.job.reporting import milliseconds
from pipelines.job.settling import Finding, Policy, excerpt, settle
from pipelines.settings import AttributionSettings
from pipelines.signals.fulfilment import drive
from pipelines.signals.investigation import Inquiry, Investigation, agrees, investigating
from pipelines.signals.metering import CallCounts
from pipelines.signals.ports import Models
from schemas.attribution import RankedText
from schemas.errors import EvidenceError, ModelError, ModelOutageError
from schemas.reports import (
    PIPELINE,
    Decision,
    OriginEvent,
    OriginText,
    ReportState,
)

STRANGERS_SHARE = 0.5  # of the budget
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

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
    """Takes open reports from the database, the most urgent first (see `reports.next_open`)."""

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
        report = self.next_report()
        if report is None:
            return False
        origin = origins.look(self.engine, report.misgeneration)
        word = origin.word if origin else None
        event = origin.event if origin else None
        known = event is not None and (event.finding is not None or word is not Decision.APPROVED)
        suspected = report.reporter == PIPELINE and word is None
        if (known and not suspected) or word is Decision.DISMISSED:
            self.settle(report, None)
        else:
            self.attribute(report, insist=word is Decision.APPROVED, known=known)
        return True

    def next_report(self) -> StoredReport | None:
        """The report to look at now, if the budget allows any.

        Strangers and the pipeline have half of the budget between them, so that no flood of theirs
        keeps those waiting whom people have confirmed.
        """
        used = self.used()
        if used >= 1.0:
            return reports.next_open(self.engine, "attributed")
        return reports.next_open(self.engine, "vouched" if used >= STRANGERS_SHARE else "any")

    def used(self) -> float:
        """The share of the budget that is used up, of the scarcer one; may exceed 1."""
        now = self.clock.now()
        events, calls = origins.spent(
            self.engine, milliseconds(now - HOUR), milliseconds(now - DAY)
        )
        limits = self.settings
        return max(events / limits.attributions_per_hour, calls / limits.model_calls_per_day)

    def tell_waiting(self) -> None:
        """Log how many reports wait for budget, where any do."""
        waiting = reports.counts(self.engine)[0].get(ReportState.OPEN, 0)
        if not waiting:
            return
        spent = self.used() >= 1.0
        log.warning(
            "reports wait for budget",
            reports=waiting,
            reason="it is used up" if spent else "what is left is for confirmed reporters",
            attributions_per_hour=self.settings.attributions_per_hour,
            model_calls_per_day=self.settings.model_calls_per_day,
        )

    def attribute(self, report: StoredReport, *, insist: bool, known: bool = False) -> None:
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
            self.failed(report, error, self.calls - before)
            return
        finding = Finding(
            event=event_of(report, case, found),
            flagged=tuple(t.document for t in found.texts if t.id in flagged_ids(found)),
            at_ms=milliseconds(self.clock.now()),
            model_calls=self.calls - before,
        )
        self.settle(report, finding, perf_counter() - started)

    def failed(self, report: StoredReport, error: Exception, calls: int) -> None:
        """Count a failure, which costs like a success; a report that always fails is given up."""
        log.warning("attribution failed", query_id=report.query_id, error=error)
        self.observer.failed(type(error).__name__)
        with self.engine.begin() as connection:
            origins.hold(connection, report.misgeneration, report.query_id, report.step)
            at_ms = milliseconds(self.clock.now())
            origins.note_attribution(
                connection, report.misgeneration, at_ms=at_ms, model_calls=calls
            )
        detail = f"the attribution failed: {type(error).__name__}"
        reports.note_failure(self.engine, report, detail, attempts=self.settings.attempts)

    def harmless(self, report: StoredReport, case: Case) -> bool:
        """Whether what the pipeline suspects means the same as what took its place."""
        later = cases.find_case(self.engine, report.query_id, report.step + 1)
        averted = report.answer != case.answer
        instead = case.answer if averted else later.answer if later else ""
        inquiry = Inquiry(case.snapshot, report.answer)
        return bool(self.driven(agrees(inquiry, (instead,), both_ways=True)))

    def investigated(self, report: StoredReport, case: Case, *, insist: bool) -> Investigation:
        """Run the investigation; raises the ModelError it ends with."""
        inquiry = Inquiry(
            snapshot=case.snapshot,
            answer=report.answer,
            recorded=tuple(answer for answer in (case.answer, case.undefended) if answer),
            further=self.further(case),
            insist=insist,
        )
        found: Investigation = self.driven(investigating(inquiry, self.attributor))
        return found

    def further(self, case: Case) -> tuple[RankedText, ...]:
        """What the corpus has on the question beside the case's own documents."""
        if self.search is None:
            return ()
        own = [document.content_id for document in case.snapshot.documents]
        return tuple(self.search(case.snapshot.query.text, own))

    def driven(self, method: Any) -> Any:
        """Run one generator to its result. Raises the ModelError it ends with."""
        (outcome,) = drive([method], self.models)
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def settle(
        self, report: StoredReport, finding: Finding | None, seconds: float | None = None
    ) -> None:
        """Write what follows, and tell it."""
        now_ms = milliseconds(self.clock.now())
        event = settle(self.engine, report, self.policy, now_ms=now_ms, finding=finding)
        if event is None:  # dismissed before it was attributed
            self.close(report, ReportState.JUDGED, "a person dismissed it")
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
        """Delete what was kept for long enough."""
        cases.prune_cases(self.engine, days=self.settings.case_days)
        now, days = self.clock.now(), self.settings.retention_days
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
