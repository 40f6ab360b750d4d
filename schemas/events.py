"""Events of the pipeline: defended answers, rejected documents and dead letters."""

from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import Field

from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import ABSENT_UNSET, MOST_LYING, Document, Provenance, Strict
from radarstream.schemas.support import STATUS_RULE, AnswerStatus, Support
from radarstream.schemas.times import Moment
from radarstream.schemas.verdict import UNSEEN, Abstention, DocumentVerdict, MemoryDecision, Verdict

TITLE_CHARACTERS: Final = 1_000  # longest title of a source; longer ones are cut


@dataclass(frozen=True, slots=True)
class Source(Strict):
    """A document as a reader cites it; `rank` joins it to its DocumentVerdict."""

    rank: Annotated[int, Field(ge=1)]
    title: str
    url: str

    @classmethod
    def of(cls, document: Document) -> Self:
        """Cite a document, with the first `TITLE_CHARACTERS` of its title."""
        return cls(document.rank, document.title[:TITLE_CHARACTERS], document.url)


@dataclass(frozen=True, slots=True)
class AnswerEvent(Strict):
    """The defended answer of one query at one step. Key: `query_id`, identity: `query_id/step`.

    `changed` is whether the meaning differs from that of the previous answer, None without one;
    `undefended_answer` is that of the same model from all documents at once, None if not asked for.
    `standing` is the last confirmed answer, None if this snapshot confirms it. `options` are the
    defence's, as JSON; `withstand` is how many of the sites that were read may lie without a false
    answer, None if the defence counts no sites. `wanted_more` means that the documents ended before
    the answer was settled; `result_pages` is how many pages of search results were read, None
    without a search. All ranks are those after `reranking`, None without a reranker.
    """

    query_id: str
    question: str
    step: Annotated[int, Field(ge=0)]
    snapshot_id: str
    observed_at: Moment
    provenance: Provenance
    defense: str
    answer: str
    abstention: Abstention | None
    changed: bool | None
    verdict: Verdict
    status: Annotated[AnswerStatus, Field(description=STATUS_RULE)]
    support: Support | None = None
    standing: StandingAnswer | None = None
    sources: tuple[Source, ...] = ()
    undefended_answer: str | None = None
    generator: str = ""
    relation_scorer: str = ""
    tags: tuple[str, ...] = ()
    options: str = "{}"
    withstand: Annotated[int | None, Field(ge=0, le=MOST_LYING)] = None
    wanted_more: bool = False
    result_pages: Annotated[Annotated[int, Field(ge=0)] | None, ABSENT_UNSET] = None
    reranking: Annotated[Reranking | None, ABSENT_UNSET] = None

    @property
    def seen(self) -> tuple[DocumentVerdict, ...]:
        """The documents that the defence saw: not withheld, dropped or left unread."""
        return tuple(d for d in self.verdict.documents if d.reason not in UNSEEN)

    @property
    def confidence(self) -> float | None:
        """How sure the answer is, in [0, 1]; None for an abstention."""
        return None if self.abstention or self.support is None else self.support.confidence

    @property
    def falsified(self) -> bool:
        """Whether this answer replaces the previous one, which the defence rejected."""
        rejected = self.verdict.memory.decision is MemoryDecision.FALSIFIED
        return rejected and self.abstention is None and self.changed is not False


@dataclass(frozen=True, slots=True)
class RejectedEvent(Strict):
    """One document that an answer did not trust, and why. Identity: `query_id/step/rank`."""

    query_id: str
    step: Annotated[int, Field(ge=0)]
    snapshot_id: str
    observed_at: Moment
    rank: Annotated[int, Field(ge=1)]
    url: str
    title: str
    reason: str
    atomic_answer: str | None
    defended_answer: str
    keep_evidence: float | None
    reject_evidence: float | None
    margin: float | None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeadLetter(Strict):
    """A record that led to no answer, with its bytes (base64) so that it can be replayed.

    `disposition` is "poison" if the record is at fault, "outage" if a model, a clock or the stored
    state was.
    """

    reason: ReasonClass
    detail: str
    disposition: str
    source: str
    position: int
    attempts: int
    payload_base64: str
