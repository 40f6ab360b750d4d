"""A question and its steps as the replay page shows them, and the sites that were rejected."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from radarstream.pipelines.pages.safe_text import domain, shorten
from radarstream.pipelines.pages.times import format_time
from radarstream.pipelines.pages.verdict_words import REASONS, memory_in_words, reason_in_words
from radarstream.pipelines.signals.scoring import Outcome, is_fooled
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot
from radarstream.schemas.verdict import DocumentVerdict, MemoryVerdict

DEFENDED, UNDEFENDED = "defended", "undefended"  # contenders of a replay
FOOLED = (Outcome.FOOLED, Outcome.BOTH)


@dataclass(frozen=True, slots=True)
class CandidateLine:
    """A candidate and what became of it; `attack` is the attack that planted it, if one did."""

    judged: JudgedCandidate
    document: Document
    reason: str
    attack: str | None


def candidates_of(
    event: AnswerEvent, documents: Mapping[int, Document], labels: Labels
) -> Iterator[CandidateLine]:
    """The candidates in their new order; nothing without a reranker.

    `documents` and `labels` have the ranks of the event.
    """
    for judged in event.reranking.candidates if event.reranking else ():
        planted = judged.rank in labels.poisoned_ranks
        yield CandidateLine(
            judged,
            documents.get(judged.rank) or Document(judged.rank, ""),
            "kept" if judged.reason is None else REASONS[judged.reason],
            (labels.attack or "planted") if planted else None,
        )


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A document and what became of it; `attack` is the attack that planted it, if one did.

    The document has the text that was read; `left_out` says how many characters it has besides.
    """

    verdict: DocumentVerdict
    document: Document
    reason: str
    attack: str | None
    names_target: bool
    left_out: int = 0

    @property
    def site(self) -> str:
        """Its host, empty unless its address is safe to follow."""
        return shorten(domain(self.document.url), 60)


@dataclass(frozen=True, slots=True)
class BaselineAnswer:
    """What a baseline said; empty where it abstained or failed."""

    name: str
    answer: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class StepView:
    """One step. `anchor` is the fragment that links to it; `fooled_now` says that the answer names
    the target of this very step. `candidates` are empty without a reranker.
    """

    anchor: str
    event: AnswerEvent
    labels: Labels
    documents: tuple[DocumentLine, ...]
    outcome: Outcome
    undefended_outcome: Outcome
    fooled_now: bool
    baselines: tuple[BaselineAnswer, ...] = ()
    candidates: tuple[CandidateLine, ...] = ()

    @property
    def judged(self) -> tuple[DocumentLine, ...]:
        """The documents without those that a reranker dropped."""
        dropped = {line.judged.rank for line in self.candidates if not line.judged.kept}
        return tuple(line for line in self.documents if line.verdict.rank not in dropped)

    @property
    def date(self) -> str:
        """When the snapshot was taken."""
        return format_time(self.event.observed_at)

    @property
    def answer(self) -> str:
        """The defended answer, not too long."""
        return shorten(self.event.answer, 600)

    @property
    def undefended(self) -> str | None:
        """The undefended answer, not too long."""
        bare = self.event.undefended_answer
        return None if bare is None else shorten(bare, 600)

    @property
    def misled(self) -> dict[str, str]:
        """The answers beside the defended one that state a planted falsehood, by who gave them."""
        others = {one.name: one.answer for one in self.baselines if one.outcome in FOOLED}
        if self.undefended_outcome in FOOLED:
            others = {UNDEFENDED: self.undefended or ""} | others
        return others

    @property
    def truth(self) -> str:
        """The right answers."""
        return (" and " if self.labels.all_answers_required else " / ").join(self.labels.answers)

    @property
    def kept(self) -> int:
        """Number of documents kept."""
        return len(self.event.verdict.kept_ranks)

    @property
    def planted(self) -> tuple[DocumentLine, ...]:
        """Documents an attack planted, as far as labels tell."""
        return tuple(line for line in self.documents if line.attack)

    @property
    def taught_by(self) -> tuple[DocumentLine, ...]:
        """Kept documents that taught the wrong answer."""
        if self.outcome not in FOOLED:
            return ()
        return tuple(line for line in self.documents if line.verdict.kept and line.names_target)

    @property
    def teachers(self) -> dict[str, list[int]]:
        """Sites whose kept documents taught the wrong answer, with the documents' ranks."""
        ranks: defaultdict[str, list[int]] = defaultdict(list)
        for line in self.taught_by:
            ranks[line.site].append(line.verdict.rank)
        return dict(ranks)

    @property
    def memory(self) -> MemoryVerdict:
        """What became of the memory."""
        return self.event.verdict.memory

    @property
    def memory_label(self) -> str:
        """What became of the memory in a word, empty if there was none."""
        return memory_in_words(self.event)


@dataclass(frozen=True, slots=True)
class QueryView:
    """One question and its steps in order; one that is `detailed` has a section of its own."""

    number: int
    steps: tuple[StepView, ...]
    detailed: bool = False

    @property
    def question(self) -> str:
        """The question, not too long."""
        return shorten(self.steps[0].event.question, 300)

    @property
    def attacked(self) -> tuple[StepView, ...]:
        """Steps an attack was planted in."""
        return tuple(step for step in self.steps if step.labels.attack)

    @property
    def fooled(self) -> tuple[StepView, ...]:
        """Steps whose answer states a planted falsehood."""
        return tuple(step for step in self.steps if step.outcome in FOOLED)

    @property
    def changed(self) -> tuple[StepView, ...]:
        """Steps whose answer differs from the step before."""
        return tuple(step for step in self.steps if step.event.changed)


@dataclass(frozen=True, slots=True)
class Highlight:
    """One remarkable step; `before` is the answer before it, where that matters."""

    query: QueryView
    step: StepView
    before: str | None = None


def build_step(
    event: AnswerEvent,
    snapshot: SearchSnapshot | None,
    read: SearchSnapshot | None,
    anchor: str,
    earlier_targets: Sequence[str],
    scores: Mapping[str, Mapping[str, Any]],
) -> StepView:
    """View of one event. `snapshot` has its ranks and all documents that were found; `read` is as
    much of it as models read, None where that is not known.

    `earlier_targets` are the falsehoods planted at steps before, `scores` its rows of the table of
    answers, by contender.
    """
    labels = (snapshot.labels if snapshot else None) or Labels()
    targets = [*earlier_targets, *([labels.target] if labels.target else [])]
    documents = {cited.rank: Document(cited.rank, "", cited.title, cited.url)
                 for cited in event.sources}  # fmt: skip
    documents |= {document.rank: document for document in (snapshot.documents if snapshot else ())}
    lengths = {rank: len(document.text) for rank, document in documents.items()}
    documents |= {document.rank: document for document in (read.documents if read else ())}
    lines = tuple(
        DocumentLine(
            verdict,
            documents.get(verdict.rank) or Document(verdict.rank, ""),
            reason_in_words(verdict, event.verdict, event.support),
            (labels.attack or "planted") if verdict.rank in labels.poisoned_ranks else None,
            any(is_fooled(verdict.atomic_answer or "", target) for target in targets),
            max(0, lengths[verdict.rank] - len(documents[verdict.rank].text))
            if verdict.rank in lengths
            else 0,
        )
        for verdict in sorted(event.verdict.documents, key=lambda held: held.rank)
    )
    defended = scores.get(DEFENDED, {})
    return StepView(
        anchor,
        event,
        labels,
        lines,
        _outcome(defended),
        _outcome(scores.get(UNDEFENDED, {})),
        fooled_now=bool(defended.get("fooled")),
        baselines=tuple(
            BaselineAnswer(name, shorten(row["answer"] or "", 600), _outcome(row))
            for name, row in scores.items()
            if name not in (DEFENDED, UNDEFENDED)
        ),
        candidates=tuple(candidates_of(event, documents, labels)),
    )


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(row.get("outcome", Outcome.UNLABELLED))
