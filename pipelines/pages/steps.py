"""A question's steps as pages show them: the answer, and what became of each document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from radarstream.pipelines.pages.safe_text import format_time, shorten
from radarstream.pipelines.pages.verdict_words import REASONS, judged_in_words, memory_in_words
from radarstream.schemas.claims import CheckedClaim
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    SOURCE_SIDE,
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class CandidateLine:
    """A candidate and what became of it; `attack` is the attack that planted it, if one did."""

    judged: JudgedCandidate
    document: Document
    reason: str
    attack: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A document, with the text that was read, where it stands and why; `attack` planted it,
    `left_out` counts the characters that were not read.
    """

    verdict: DocumentVerdict
    document: Document
    side: str
    reason: str
    attack: str | None = None
    names_target: bool = False
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class StepView:
    """One step; `anchor` links to it. `candidates` are empty without a reranker."""

    anchor: str
    event: AnswerEvent
    documents: tuple[DocumentLine, ...]
    candidates: tuple[CandidateLine, ...]

    @property
    def scored(self) -> bool:
        """Whether the step also knows what its answer is worth, as in the lab."""
        return False

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
    def memory(self) -> MemoryVerdict:
        """What became of the memory."""
        return self.event.verdict.memory

    @property
    def memory_label(self) -> str:
        """What became of the memory in a word, empty if there was none."""
        return memory_in_words(self.event)


def build_step(
    event: AnswerEvent,
    snapshot: SearchSnapshot | None,
    anchor: str,
    checked: CheckedClaim | None = None,
) -> StepView:
    """View of one event, or of the claim that was `checked` by it. `snapshot` has its ranks and all
    documents that were found.
    """
    documents = documents_of(event, snapshot)
    lines = tuple(lines_of(event, documents, checked))
    return StepView(anchor, event, lines, tuple(candidates_of(event, documents)))


def documents_of(event: AnswerEvent, snapshot: SearchSnapshot | None) -> dict[int, Document]:
    """The documents of an event by rank; without a snapshot what the event cites, without texts."""
    cited = (Document(source.rank, "", source.title, source.url) for source in event.sources)
    found = snapshot.documents if snapshot else ()
    return {document.rank: document for document in (*cited, *found)}


def lines_of(
    event: AnswerEvent, documents: Mapping[int, Document], checked: CheckedClaim | None = None
) -> Iterator[DocumentLine]:
    """The documents that were judged, by rank, with the reasons."""
    for verdict in sorted(event.verdict.documents, key=lambda judged: judged.rank):
        document = documents.get(verdict.rank) or Document(verdict.rank, "")
        yield DocumentLine(
            verdict, document, *judged_in_words(verdict, event.verdict, event.support, checked)
        )


def candidates_of(event: AnswerEvent, documents: Mapping[int, Document]) -> Iterator[CandidateLine]:
    """The candidates in their new order; nothing without a reranker."""
    for judged in event.reranking.candidates if event.reranking else ():
        document = documents.get(judged.rank) or Document(judged.rank, "")
        yield CandidateLine(
            judged, document, "kept" if judged.reason is None else REASONS[judged.reason]
        )


class EnergyParts(NamedTuple):
    """The recorded energy and what it is made of."""

    total: float
    conflict_kept: float
    support_given_up: float
    agreement_severed: float

    @property
    def parts(self) -> float:
        """Sum of the three parts. It equals `total` unless the record leaves out some of them."""
        return sum(self[1:])

    @property
    def adds_up(self) -> bool:
        """Whether the parts give the total."""
        return abs(self.parts - self.total) <= 1e-6 * max(1.0, abs(self.total))


def source_side(verdict: Verdict) -> frozenset[int]:
    """Nodes on the keep side of the cut itself, before anything later."""
    sides = {d.rank for d in verdict.documents if d.reason in SOURCE_SIDE}
    if verdict.memory.decision is MemoryDecision.RETAINED:
        sides.add(MEMORY_NODE)
    return frozenset(sides)


def energy_parts(verdict: Verdict) -> EnergyParts | None:
    """The recorded energy and what it is made of, or None where the defence cut no graph."""
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
            capacity for a, b, capacity in verdict.edges if (a in kept) != (b in kept)
        ),
    )
