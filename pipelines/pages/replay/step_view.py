"""One step of one query as the page shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from radarstream.pipelines.evaluation.frame import DEFENDED, UNDEFENDED
from radarstream.pipelines.evaluation.scoring import Outcome, is_fooled
from radarstream.pipelines.pages.safe_text import (
    Excerpt,
    domain,
    excerpt,
    safe_link,
    shorten,
)
from radarstream.pipelines.pages.times import format_time
from radarstream.pipelines.pages.verdict_words import (
    ABSTENTIONS,
    EnergyParts,
    energy_parts,
    reason_in_words,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot
from radarstream.schemas.verdict import MemoryDecision, MemoryVerdict, Reason

FOOLED = (Outcome.FOOLED, Outcome.BOTH)


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
    def stopped(self) -> bool:
        """Whether an attack that succeeds undefended left a correct answer or none."""
        undefended = self.undefended_outcome in FOOLED
        return undefended and self.outcome in (Outcome.CORRECT, Outcome.ABSTAINED)

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
        """What happened to the memory in a word, empty if there was none."""
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
    outcome = _outcome(scored.get(DEFENDED))
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
        undefended_outcome=_outcome(scored.get(UNDEFENDED)),
        abstention=ABSTENTIONS[event.abstention] if event.abstention else None,
        changed=bool(event.changed),
        labels=labels,
        truth=(" and " if labels.all_answers_required else " / ").join(labels.answers),
        fooled_now=bool(scored.get(DEFENDED, {}).get("fooled")),
        documents=rows,
        memory=event.verdict.memory,
        energy=energy_parts(event.verdict),
        taught_by=tuple(row for row in rows if row.kept and row.teaches_lie)
        if outcome in FOOLED
        else (),
    )


def _outcome(row: Mapping[str, Any] | None) -> Outcome:
    return Outcome.UNLABELLED if row is None else Outcome(row["outcome"])


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
                teaches_lie=any(is_fooled(answer or "", target) for target in targets),
            )
        )
    return tuple(rows)


def _published(document: Document | None) -> str:
    return format_time(document.published_at) if document and document.published_at else ""
