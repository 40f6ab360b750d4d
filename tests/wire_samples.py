"""One value of every payload type with every field filled: the subjects of the golden files."""

from datetime import UTC, datetime

from radarstream.schemas.attribution import Finding
from radarstream.schemas.codec import (
    decode_answer,
    decode_complaint,
    decode_dead_letter,
    decode_rejected,
    decode_snapshot,
    decode_taught,
)
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter, RejectedEvent, Source
from radarstream.schemas.incidents import (
    AttributedText,
    Complaint,
    Status,
    TaughtEvent,
    incident_id,
)
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.records import Limits
from radarstream.schemas.snapshot import (
    Document,
    Labels,
    Provenance,
    Query,
    Retrieval,
    SearchSnapshot,
)
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import (
    Abstention,
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)

OBSERVED_AT = datetime(2025, 6, 1, 12, 0, 0, 250_000, tzinfo=UTC)

SNAPSHOT = SearchSnapshot(
    query=Query("cup", "Who won the cup?", ("sport",), withstand=2),
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
    defense="voices",
    answer="",
    abstention=Abstention.THIN_EVIDENCE,
    changed=True,
    verdict=Verdict(
        answer="",
        documents=(
            DocumentVerdict(1, True, Reason.SUPPORTED, "Zürich", 1.5, 0.1, 1.4, (0, 6)),
            DocumentVerdict(3, False, Reason.NOT_READ),
        ),
        abstention=Abstention.THIN_EVIDENCE,
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
        edges=((0, 1, 0.1 + 0.2),),
        conflicts=((0, 1, 0.25),),
        candidate="Zürich",
    ),
    status=AnswerStatus.ABSTAINED,
    support=Support(1, 1, -0.25, 0.4, "Basel", 2, 3, ((1, 0.75),), ((3, 1.0),)),
    standing=StandingAnswer("Basel", datetime(2025, 5, 1, tzinfo=UTC)),
    sources=(Source(1, "Final", "https://example.org/1"),),
    undefended_answer="Basel",
    generator="scripted",
    relation_scorer="agreement",
    tags=("sport",),
    withstand=2,
    wanted_more=True,
    result_pages=3,
)
REJECTED = RejectedEvent(
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

COMPLAINT = Complaint(
    sender="ada@example.org",
    sent_at=OBSERVED_AT,
    query_id="cup",
    question="Who won the cup?",
    answer="Basel",
    step=4,
    comment="Basel lost.",
)
TAUGHT = TaughtEvent(
    query_id="cup",
    question="Who won the cup?",
    step=4,
    snapshot_id=SNAPSHOT.id,
    observed_at=OBSERVED_AT,
    incident=incident_id("cup", 4, "Basel"),
    revision=1,
    answer="Basel",
    defended_answer="Basel",
    undefended_answer="Basel",
    senders=2,
    status=Status.QUARANTINED,
    attributor="rag_origin",
    reproduced=True,
    finding=Finding.TEXTS_FLAGGED,
    texts=(
        AttributedText(
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
        AttributedText("d-2", 2, False, "https://example.org/1", "Final", "Zürich won."),
    ),
    gap=2.0,
    generation_gap=2.5,
    answer_without="Zürich",
    persists=False,
    detail="two senders",
    tags=("sport",),
)

SAMPLES = (SNAPSHOT, ANSWER, REJECTED, DEAD_LETTER, COMPLAINT, TAUGHT)
DECODERS = {
    SearchSnapshot: lambda data: decode_snapshot(data, limits=Limits()),
    AnswerEvent: decode_answer,
    RejectedEvent: decode_rejected,
    DeadLetter: decode_dead_letter,
    Complaint: lambda data: decode_complaint(data, now=None),
    TaughtEvent: decode_taught,
}
