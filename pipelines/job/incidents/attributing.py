"""Deep attribution, beside the job: one incident after the other, within a budget. The database
holds the state: after a crash at most one attribution is repeated, and results are written once.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import Any

import structlog
from sqlalchemy import Engine

from radarstream.connectors.corpus.store import Corpus
from radarstream.connectors.state_table.incidents import complaints, kept_answers, senders, store
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint, next_open
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer
from radarstream.defenses.protocol import Attributor
from radarstream.pipelines.job.failures import kind_of
from radarstream.pipelines.job.incidents.settling import Investigated, excerpt, settle
from radarstream.pipelines.job.telemetry.metrics import AttributingMetrics
from radarstream.pipelines.settings import AttributionSettings, ReadingSettings
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.investigation import Inquiry, Investigation, investigating
from radarstream.pipelines.signals.metering import CallCounts
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import in_its_form
from radarstream.pipelines.signals.reading import read_documents
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.errors import EvidenceError, ModelError, ModelOutageError
from radarstream.schemas.incidents import (
    AttributedText,
    ComplaintState,
    Decision,
    Status,
    TaughtEvent,
    text_key,
)
from radarstream.schemas.snapshot import Document
from radarstream.schemas.times import Clock, milliseconds

HALF = 0.5
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

log = structlog.get_logger("radarstream")


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget for attributions, one half of it reserved, and what is used of it."""

    engine: Engine
    settings: AttributionSettings
    clock: Clock

    def next_turn(self) -> tuple[StoredComplaint | None, bool]:
        """The next complaint, if any, and whether the reserved half of the budget pays. The less
        used half goes first. If both are used up, known attributions can still be settled.
        """
        day_ago_ms = milliseconds(self.clock.now() - DAY)
        first = partial(next_open, self.engine, day_ago_ms=day_ago_ms, trusted=self.trusted())
        used = {reserved: self.used(reserved=reserved) for reserved in (True, False)}
        if sum(used.values()) < len(used):
            for reserved in sorted(used, key=used.__getitem__):
                if used[reserved] < 1.0 and (complaint := first(only_urgent=reserved)):
                    return complaint, reserved
        return first(only_known=True), False

    def used(self, *, reserved: bool) -> float:
        """The used share of this half, by the scarcer limit; may exceed 1."""
        now = self.clock.now()
        events, calls = store.spent(
            self.engine, milliseconds(now - HOUR), milliseconds(now - DAY), reserved=reserved
        )
        limits = self.settings
        share = max(events / limits.attributions_per_hour, calls / limits.model_calls_per_day)
        return share / HALF

    def trusted(self) -> frozenset[str]:
        """The trusted senders with an open complaint."""
        with self.engine.connect() as connection:
            waiting = senders.waiting_senders(connection)
        return frozenset(
            name for name, record in waiting.items() if record.trusted(self.settings.trusted_after)
        )

    def tell_waiting(self) -> None:
        """Log how many complaints wait for budget, if any do."""
        waiting = complaints.counts(self.engine)[0].get(ComplaintState.OPEN, 0)
        if not waiting:
            return
        spent = self.used(reserved=True) >= 1.0
        log.warning(
            "complaints wait for budget",
            complaints=waiting,
            reason="it is used up" if spent else "what is left is for trusted senders",
            attributions_per_hour=self.settings.attributions_per_hour,
            model_calls_per_day=self.settings.model_calls_per_day,
        )


EMBEDDED_AT_ONCE = 512  # an attribution does not wait until a whole archive is embedded


@dataclass
class Attributing:
    """Works on open complaints of the database, the most urgent first (see `next_open`)."""

    engine: Engine
    models: Models
    attributor: Attributor
    settings: AttributionSettings
    clock: Clock
    metrics: AttributingMetrics
    corpus: Corpus | None = None
    reading: ReadingSettings = ReadingSettings()

    def step(self) -> bool:
        """Settle one complaint or count its failure; False if there is none. Raises
        ModelOutageError.
        """
        complaint, reserved = self.budget.next_turn()
        if complaint is None:
            return False
        incident = store.look(self.engine, complaint.incident)
        decision = incident.decision if incident else None
        event = incident.event if incident else None
        insist = decision == Decision.APPROVED
        known = event is not None and (event.finding is not None or not insist)
        if known or (decision is not None and not insist):
            self.settle(complaint, None)
        else:
            self.attribute(complaint, insist=insist, reserved=reserved)
        return True

    @property
    def budget(self) -> Budget:
        """The budget by the settings."""
        return Budget(self.engine, self.settings, self.clock)

    def attribute(
        self, complaint: StoredComplaint, *, insist: bool, reserved: bool = False
    ) -> None:
        """Attribute one wrong answer with the models and settle it."""
        kept = kept_answers.find_answer(self.engine, complaint.query_id, complaint.step)
        if kept is None:
            self.close(complaint, ComplaintState.UNUSABLE, "the answer is not kept any more")
            return
        started, before = perf_counter(), self.calls
        try:
            found = self.investigated(complaint, kept, insist=insist)
        except ModelOutageError:
            raise
        except Exception as error:
            expected = isinstance(error, ModelError | EvidenceError)
            if not expected and kind_of(error) != "defect":
                raise
            self.failed(complaint, error, self.calls - before, reserved=reserved)
            return
        flagged = found.attribution.flagged if found.attribution else ()
        result = Investigated(
            event=event_of(complaint, kept, found),
            flagged=tuple(t.document for t in found.texts if t.id in flagged),
            at_ms=milliseconds(self.clock.now()),
            model_calls=self.calls - before,
            reserved=reserved,
        )
        self.settle(complaint, result, perf_counter() - started)

    def failed(
        self, complaint: StoredComplaint, error: Exception, calls: int, *, reserved: bool
    ) -> None:
        """Count a failure, which costs like a success; after some, close the complaint."""
        log.warning("attribution failed", query_id=complaint.query_id, error=error)
        self.metrics.failed(type(error).__name__)
        incident, at_ms = complaint.incident, milliseconds(self.clock.now())
        with self.engine.begin() as connection:
            store.hold(connection, incident, complaint.query_id, complaint.step)
            store.note_attribution(
                connection, incident, at_ms=at_ms, model_calls=calls, reserved=reserved
            )
        detail = f"the attribution failed: {type(error).__name__}"
        complaints.note_failure(self.engine, complaint, detail, attempts=self.settings.attempts)

    def investigated(
        self, complaint: StoredComplaint, kept: KeptAnswer, *, insist: bool
    ) -> Investigation:
        """Run the investigation. Raises ModelError."""
        further = self.further(kept)
        inquiry = Inquiry(
            snapshot=kept.snapshot,
            answer=complaint.answer,
            recorded=tuple(answer for answer in (kept.answer, kept.undefended) if answer),
            further=further,
            read=self.read(kept, further),
            insist=insist,
        )
        found: Investigation = self.driven(investigating(inquiry, self.attributor), kept)
        return found

    def read(self, kept: KeptAnswer, further: Sequence[RankedText]) -> dict[str, Document]:
        """The documents with the texts that models read, by content id."""
        known = (*kept.snapshot.documents, *(text.document for text in further))
        read = read_documents(kept.snapshot.query, known, self.reading)
        return {d.content_id: shown for d, shown in zip(known, read, strict=True)}

    def further(self, kept: KeptAnswer) -> tuple[RankedText, ...]:
        """Search the corpus, if any, for texts that are not in the snapshot."""
        if self.corpus is None:
            return ()
        found = self.corpus.search(
            kept.snapshot.query.text,
            self.settings.corpus_texts,
            self.models.embedder,
            exclude=[document.content_id for document in kept.snapshot.documents],
            embed_at_most=EMBEDDED_AT_ONCE,
        )
        return tuple(found)

    def driven(self, method: Any, kept: KeptAnswer) -> Any:
        """Run one generator to its result, in the query's form. Raises ModelError."""
        (outcome,) = in_its_form(
            [method], lambda _: kept.snapshot.query.long_form, drive, self.models
        )
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def settle(
        self, complaint: StoredComplaint, found: Investigated | None, seconds: float | None = None
    ) -> None:
        """Settle the incident and log the result."""
        now_ms = milliseconds(self.clock.now())
        event = settle(self.engine, complaint, self.settings, now_ms=now_ms, found=found)
        if event is None:  # a person's decision came before the attribution
            self.close(complaint, ComplaintState.JUDGED, "a person judged it")
            return
        self.metrics.settled(event, seconds)
        log.info(
            "attributed",
            query_id=event.query_id,
            step=event.step,
            incident=event.incident,
            status=event.status.value,
            finding=event.finding.value if event.finding else None,
            flagged=len(event.flagged),
            senders=event.senders,
            seconds=None if seconds is None else round(seconds, 3),
        )

    def close(self, complaint: StoredComplaint, state: ComplaintState, detail: str) -> None:
        """Close a wrong answer's complaints without an event."""
        with self.engine.begin() as connection:
            complaints.close(connection, complaint.incident, state, detail)
        log.info("complaint closed", query_id=complaint.query_id, state=state.value, detail=detail)

    def prune(self) -> None:
        """Expire complaints that waited too long; delete old answers and complaints."""
        now, days = self.clock.now(), self.settings.retention_days
        waited = self.settings.open_days
        waits_since = milliseconds(now - timedelta(days=waited))
        complaints.expire(self.engine, waits_since, f"not attributed within {waited:g} days")
        kept_answers.prune_answers(self.engine, days=self.settings.keep_days)
        before_ms = milliseconds(now - timedelta(days=days))
        complaints.prune_complaints(self.engine, before_ms)

    @property
    def calls(self) -> int:
        """The number of requests so far to the generator and for its token probabilities."""
        counted: tuple[object, ...] = (self.models.generator, self.models.tokens)
        return sum(model.calls for model in counted if isinstance(model, CallCounts))


def event_of(complaint: StoredComplaint, kept: KeptAnswer, found: Investigation) -> TaughtEvent:
    """Make the event of an investigation; settling sets its status."""
    attribution = found.attribution
    snapshot = kept.snapshot
    places = {d.content_id: d.rank for d in reversed(snapshot.documents)}
    texts = {text.id: text for text in found.texts}
    scores = attribution.texts if attribution else ()
    return TaughtEvent(
        query_id=kept.query_id,
        question=snapshot.query.text,
        step=kept.step,
        snapshot_id=snapshot.id,
        observed_at=snapshot.observed_at,
        incident=complaint.incident,
        revision=0,
        answer=complaint.answer,
        defended_answer=kept.answer,
        undefended_answer=kept.undefended,
        senders=0,
        status=Status.UNVERIFIED,
        attributor=attribution.method if attribution else "",
        reproduced=found.reproduced,
        finding=attribution.finding if attribution else None,
        texts=tuple(
            AttributedText(
                **asdict(score),
                url=texts[score.id].document.url,
                title=texts[score.id].document.title,
                excerpt=excerpt(texts[score.id].document),
                search_rank=places.get(score.id),
                text_key=text_key(texts[score.id].document),
            )
            for score in scores
        ),
        gap=attribution.gap if attribution else None,
        generation_gap=attribution.generation_gap if attribution else None,
        answer_without=found.answer_without,
        persists=found.persists,
        tags=snapshot.query.tags,
    )
