"""One step of one query as the page shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from radarstream.pipelines.evaluation.frame import DEFENDED, UNDEFENDED
from radarstream.pipelines.evaluation.metrics import states
from radarstream.pipelines.evaluation.report.outcome import Outcome, outcome_in
from radarstream.pipelines.evaluation.report.safe_text import (
    Excerpt,
    domain,
    excerpt,
    safe_link,
    shorten,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    SOURCE_SIDE,
    Abstention,
    DocumentVerdict,
    Edge,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)

STRONG_CONFLICT = 0.5
WEAK_AGREEMENT = 0.5  # share of the step's strongest edge below which two answers disagree
ABSTENTIONS = {
    Abstention.NO_DOCUMENTS: "the search returned no documents",
    Abstention.NO_EVIDENCE: "no document answers the question",
    Abstention.NO_CONSENSUS: "the documents contradict each other and none was kept",
    Abstention.MODEL_ABSTAINED: "the model would not answer from the kept documents",
}


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document's line in the step's table. `link` is None unless it is safe to follow."""

    rank: int
    title: str
    url: str
    link: str | None
    domain: str
    published: str
    atomic_answer: str | None
    keep_evidence: float | None
    reject_evidence: float | None
    margin: float | None
    kept: bool
    selected: bool
    reason: str
    excerpt: Excerpt | None
    attack: str | None
    teaches_lie: bool


@dataclass(frozen=True, slots=True)
class EnergyParts:
    """The energy and what it is made of; `adds_up` tells whether the parts give the whole."""

    total: float
    conflict_kept: float
    support_given_up: float
    agreement_severed: float

    @property
    def parts(self) -> float:
        """Sum of the three parts."""
        return self.conflict_kept + self.support_given_up + self.agreement_severed

    @property
    def adds_up(self) -> bool:
        """Whether the recorded energy can be recomputed from the recorded parts."""
        return abs(self.parts - self.total) <= 1e-6 * max(1.0, abs(self.total))


@dataclass(frozen=True, slots=True)
class StepView:
    """One step. `anchor` is the fragment that links to it."""

    anchor: str
    step: int
    date: str
    event: AnswerEvent
    answer: str
    outcome: Outcome
    undefended: str | None
    undefended_outcome: Outcome
    abstention: str | None
    changed: bool
    labels: Labels
    truth: str
    fooled_now: bool
    documents: tuple[DocumentRow, ...]
    memory: MemoryVerdict
    energy: EnergyParts | None
    taught_by: tuple[DocumentRow, ...]

    @property
    def attack(self) -> str | None:
        """Name of the attack planted in this step's documents, if one was."""
        return self.labels.attack

    @property
    def target(self) -> str | None:
        """The falsehood the attack wants answered."""
        return self.labels.target

    @property
    def kept(self) -> int:
        """Number of documents kept."""
        return sum(row.kept for row in self.documents)

    @property
    def cut(self) -> int:
        """Number of documents not kept."""
        return len(self.documents) - self.kept

    @property
    def poisoned(self) -> tuple[DocumentRow, ...]:
        """Documents an attack planted, as far as labels tell."""
        return tuple(row for row in self.documents if row.attack)

    @property
    def teachers(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Sites whose kept documents taught the wrong answer, with the documents' ranks."""
        ranks: dict[str, tuple[int, ...]] = {}
        for row in self.taught_by:
            ranks[row.domain] = (*ranks.get(row.domain, ()), row.rank)
        return tuple(ranks.items())

    @property
    def memory_label(self) -> str:
        """The memory's fate in a word, empty if it had none."""
        return "" if self.memory.decision is MemoryDecision.NONE else str(self.memory.decision)


def build_step(
    event: AnswerEvent,
    snapshot: SearchSnapshot | None,
    anchor: str,
    earlier_targets: Sequence[str],
    scored: Mapping[str, Mapping[str, Any]],
) -> StepView:
    """View of one event. `earlier_targets` are the falsehoods planted at steps before, `scored` the
    rows of its answers in the table of answers, by contender.
    """
    labels = (snapshot.labels if snapshot else None) or Labels()
    answer = shorten(event.answer, 600)
    targets = [*earlier_targets, *([labels.target] if labels.target else [])]
    outcome = outcome_in(scored.get(DEFENDED))
    undefended = event.undefended_answer
    rows = _document_rows(event, snapshot, labels, targets)
    return StepView(
        anchor=anchor,
        step=event.step,
        date=format_time(event.observed_at),
        event=event,
        answer=answer,
        outcome=outcome,
        undefended=None if undefended is None else shorten(undefended, 600),
        undefended_outcome=outcome_in(scored.get(UNDEFENDED)),
        abstention=ABSTENTIONS[event.abstention] if event.abstention else None,
        changed=bool(event.changed),
        labels=labels,
        truth=(" and " if labels.all_answers_required else " / ").join(labels.answers),
        fooled_now=bool(scored.get(DEFENDED, {}).get("fooled")),
        documents=rows,
        memory=event.verdict.memory,
        energy=_energy_parts(event.verdict),
        taught_by=tuple(row for row in rows if row.kept and row.teaches_lie)
        if outcome is Outcome.FOOLED
        else (),
    )


def format_time(moment: datetime) -> str:
    """Date, with the minute where it is not midnight; event times are UTC throughout."""
    midnight = (moment.hour, moment.minute, moment.second) == (0, 0, 0)
    return moment.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M")


def _document_rows(
    event: AnswerEvent, snapshot: SearchSnapshot | None, labels: Labels, targets: Sequence[str]
) -> tuple[DocumentRow, ...]:
    texts = {document.rank: document for document in (snapshot.documents if snapshot else ())}
    cited = {source.rank: source for source in event.sources}
    rows = []
    for verdict in sorted(event.verdict.documents, key=lambda held: held.rank):
        source = texts.get(verdict.rank) or cited.get(verdict.rank)
        document = texts.get(verdict.rank)
        answer = verdict.atomic_answer
        title, url = (source.title, source.url) if source else ("", "")
        rows.append(
            DocumentRow(
                rank=verdict.rank,
                title=shorten(title, 160),
                url=shorten(url, 120),
                link=safe_link(url),
                domain=shorten(domain(url), 60),
                published=_published(document),
                atomic_answer=None if answer is None else shorten(answer, 240),
                keep_evidence=verdict.keep_evidence,
                reject_evidence=verdict.reject_evidence,
                margin=verdict.margin,
                kept=verdict.kept,
                selected=verdict.reason is not Reason.NOT_JUDGED,
                reason=reason_in_words(verdict, event.verdict),
                excerpt=excerpt(document.text, answer) if document and document.text else None,
                attack=(labels.attack or "planted")
                if verdict.rank in labels.poisoned_ranks
                else None,
                teaches_lie=any(states(answer or "", target) for target in targets),
            )
        )
    return tuple(rows)


def _published(document: Document | None) -> str:
    return format_time(document.published_at) if document and document.published_at else ""


_REASONS: Final = {
    Reason.BEST_OF_NONE: "the cut kept nothing; this is the fallback",
    Reason.ISOLATED: "survived the cut, but its answer is unlike the other kept answers",
    Reason.DISTRUSTED: "survived the cut, but only sources blamed before say so",
    Reason.UNINFORMATIVE: "does not answer the question",
    Reason.NOT_JUDGED: "this defence does not select documents",
    Reason.CONTRADICTED: "outside the largest set of documents that do not contradict each other",
    Reason.NOT_SAMPLED: "in no round of samples that was kept",
    Reason.TIGHT_CLUSTER: "in a group of documents that are too much alike",
    Reason.NEAR_DUPLICATE: "nearly the words of a better ranked document",
    Reason.OUTVOTED: "too few other answers share any of its words",
    Reason.BLOCKED: "from a source that a person blocked",
    Reason.QUARANTINED: "in quarantine: it taught a wrong answer before",
}


def reason_in_words(document: DocumentVerdict, verdict: Verdict) -> str:
    """Why this document was kept or cut, as a sentence fragment for a reader."""
    if document.reason is Reason.CUT:
        return _why_cut(document, verdict)
    if document.reason is Reason.SUPPORTED:
        friends = name_nodes(_neighbours(document.rank, verdict, agreeing=True))
        return f"agrees with {friends}" if friends else "its support outweighs the conflict"
    return _REASONS[document.reason]


def _why_cut(document: DocumentVerdict, verdict: Verdict) -> str:
    opponents = name_nodes(_neighbours(document.rank, verdict, agreeing=False))
    keep, reject = document.keep_evidence, document.reject_evidence
    if document.margin is not None and abs(document.margin) <= 1e-9:
        return "keeping and cutting cost the same; ties are cut"
    if keep is None or reject is None:
        return f"no agreement with {opponents}" if opponents else "on the rejected side of the cut"
    if reject >= STRONG_CONFLICT and opponents:
        return f"contradicted by {opponents}"
    if reject > keep and opponents:
        return f"more conflict than support; no agreement with {opponents}"
    if reject > keep:
        return "more conflict than support"
    return "falls with the documents that share its answer"


def _neighbours(rank: int, verdict: Verdict, *, agreeing: bool) -> tuple[int, ...]:
    """Kept nodes, the memory included, that agree with `rank` strongly (or hardly at all)."""
    if not verdict.edges:
        return ()
    strongest = max(edge.capacity for edge in verdict.edges)
    agreement = {_other_end(edge, rank): edge.capacity for edge in verdict.edges}
    kept = [d.rank for d in verdict.documents if d.kept and d.rank != rank]
    if verdict.memory.decision is MemoryDecision.RETAINED:
        kept.append(MEMORY_NODE)
    return tuple(
        node
        for node in kept
        if (agreement.get(node, 0.0) >= WEAK_AGREEMENT * strongest) == agreeing
    )


def _other_end(edge: Edge, rank: int) -> int | None:
    if rank in (edge.a, edge.b):
        return edge.b if edge.a == rank else edge.a
    return None


def name_nodes(nodes: Sequence[int]) -> str:
    """Documents in words, at most six by number.

    >>> name_nodes((2, 3, 5, 0))
    'documents 2, 3, 5 and the memory'
    """
    ranks = [str(node) for node in nodes if node != MEMORY_NODE]
    listed = ", ".join(ranks[:6]) + (f" and {len(ranks) - 6} more" if len(ranks) > 6 else "")
    parts = [f"{'document' if len(ranks) == 1 else 'documents'} {listed}"] if ranks else []
    return " and ".join([*parts, *(["the memory"] if MEMORY_NODE in nodes else [])])


def source_side(verdict: Verdict) -> frozenset[int]:
    """Nodes on the keep side of the cut itself, before anything later."""
    sides = {d.rank for d in verdict.documents if d.reason in SOURCE_SIDE}
    if verdict.memory.decision is MemoryDecision.RETAINED:
        sides.add(MEMORY_NODE)
    return frozenset(sides)


def _energy_parts(verdict: Verdict) -> EnergyParts | None:
    if verdict.energy is None:
        return None
    terminals = [(d.rank, d.keep_evidence, d.reject_evidence) for d in verdict.documents]
    memory = verdict.memory
    if memory.decision is not MemoryDecision.NONE:
        terminals.append((MEMORY_NODE, memory.support_posterior, memory.conflict_posterior))
    kept = source_side(verdict)
    return EnergyParts(
        total=verdict.energy,
        conflict_kept=sum(reject or 0.0 for node, _, reject in terminals if node in kept),
        support_given_up=sum(keep or 0.0 for node, keep, _ in terminals if node not in kept),
        agreement_severed=sum(
            edge.capacity for edge in verdict.edges if (edge.a in kept) != (edge.b in kept)
        ),
    )
