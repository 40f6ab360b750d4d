"""One value of every payload type with every field filled: the subjects of the golden files."""

from datetime import UTC, datetime

from radarstream.schemas.attribution import Finding
from radarstream.schemas.codec import (
    decode_answer,
    decode_attribution,
    decode_dead_letter,
    decode_origin,
    decode_report,
    decode_snapshot,
)
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.events import AnswerEvent, AttributionEvent, DeadLetter, Source
from radarstream.schemas.records import Limits
from radarstream.schemas.reports import (
    AnswerReport,
    Decision,
    OriginEvent,
    OriginText,
    misgeneration_id,
)
from radarstream.schemas.snapshot import (
    Document,
    Labels,
    Provenance,
    Query,
    Retrieval,
    SearchSnapshot,
)
from radarstream.schemas.verdict import (
    Abstention,
    DocumentVerdict,
    Edge,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)

OBSERVED_AT = datetime(2025, 6, 1, 12, 0, 0, 250_000, tzinfo=UTC)

SNAPSHOT = SearchSnapshot(
    query=Query(id="cup", text="Who won the cup?", tags=("sport",)),
    observed_at=OBSERVED_AT,
    documents=(
        Document(1, "Zürich won 👍.\n\tReally.", "Final", "https://example.org/1"),
        Document(3, "", published_at=datetime(1969, 7, 20, 20, 17, tzinfo=UTC)),
    ),
    provenance=Provenance.DATE_RESTRICTED,
    labels=Labels(
        answers=("Zürich", "FC Zürich"),
        all_answers_required=True,
        target="Basel",
        attack="poison",
        poisoned_ranks=(3,),
        false_passages=("Basel won.",),
    ),
    retrieval=Retrieval(
        engine="google",
        pages=1,
        archive_ids=("665b0f3c2a1e",),
        partial=True,
        detail="page 2 failed: the search service did not answer in time",
    ),
)
ANSWER = AnswerEvent(
    query_id="cup",
    question="Who won the cup?",
    step=4,
    snapshot_id=SNAPSHOT.id,
    observed_at=OBSERVED_AT,
    provenance=Provenance.LIVE,
    defense="radar",
    answer="",
    abstention=Abstention.NO_EVIDENCE,
    changed=True,
    verdict=Verdict(
        answer="",
        documents=(
            DocumentVerdict(1, True, Reason.SUPPORTED, "Zürich", 1.5, 0.1, 1.4),
            DocumentVerdict(3, False, Reason.UNINFORMATIVE),
        ),
        abstention=Abstention.NO_EVIDENCE,
        memory=MemoryVerdict(
            MemoryDecision.RETAINED,
            previous_answer="Basel",
            support_prior=0.9,
            conflict_prior=0.1,
            support_posterior=1 / 3,
            conflict_posterior=0.25,
            margin=0.0,
        ),
        energy=2.5,
        edges=(Edge(0, 1, 0.1 + 0.2),),
    ),
    sources=(Source(1, "Final", "https://example.org/1"),),
    undefended_answer="Basel",
    generator="scripted",
    relation_scorer="agreement",
    tags=("sport",),
)
ATTRIBUTION = AttributionEvent(
    query_id="cup",
    step=4,
    snapshot_id=SNAPSHOT.id,
    observed_at=OBSERVED_AT,
    rank=3,
    url="https://example.org/3",
    title="Fan page",
    reason="cut",
    atomic_answer="Basel",
    defended_answer="Zürich",
    keep_evidence=0.2,
    reject_evidence=0.7,
    margin=None,
    tags=("sport",),
)
DEAD_LETTER = DeadLetter(
    reason=ReasonClass.FUTURE_TIME,
    detail="observed_at lies in the future",
    disposition="poison",
    source="search.snapshots/0",
    position=17,
    attempts=1,
    payload_base64="e30=",
)

REPORT = AnswerReport(
    reporter="ada@example.org",
    reported_at=OBSERVED_AT,
    query_id="cup",
    question="Who won the cup?",
    answer="Basel",
    step=4,
    comment="Basel lost.",
)
ORIGIN = OriginEvent(
    query_id="cup",
    question="Who won the cup?",
    step=4,
    snapshot_id=SNAPSHOT.id,
    observed_at=OBSERVED_AT,
    misgeneration=misgeneration_id("cup", 4, "Basel"),
    revision=1,
    answer="Basel",
    defended_answer="Basel",
    undefended_answer="Basel",
    reporters=2,
    self_detected=True,
    decision=Decision.QUARANTINED,
    attributor="rag_origin",
    reproduced=True,
    finding=Finding.TEXTS_FLAGGED,
    texts=(
        OriginText(
            "d-1",
            1,
            True,
            "https://example.org/3",
            "Fan page",
            "Basel won.",
            search_rank=3,
            score=1.25,
            similarity=0.9,
            semantic=-1.1,
            generation=-0.2,
        ),
        OriginText("d-2", 2, False, "https://example.org/1", "Final", "Zürich won."),
    ),
    gap=2.0,
    generation_gap=2.5,
    answer_without="Zürich",
    persists=False,
    detail="two reporters",
    tags=("sport",),
)

SAMPLES = (SNAPSHOT, ANSWER, ATTRIBUTION, DEAD_LETTER, REPORT, ORIGIN)
DECODERS = {
    SearchSnapshot: lambda data: decode_snapshot(data, limits=Limits(), now=None),
    AnswerEvent: decode_answer,
    AttributionEvent: decode_attribution,
    DeadLetter: decode_dead_letter,
    AnswerReport: lambda data: decode_report(data, now=None),
    OriginEvent: decode_origin,
}
