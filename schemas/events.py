"""What the pipeline emits: defended answers, rejected documents and dead letters."""

from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import Field

from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import ABSENT_UNSET, MOST_LYING, Document, Provenance, Strict
from radarstream.schemas.support import TOLD_APART, AnswerStatus, Support
from radarstream.schemas.times import Moment
from radarstream.schemas.verdict import UNSEEN, Abstention, DocumentVerdict, MemoryDecision, Verdict

TITLE_CHARACTERS: Final = 1_000  # of a title that are cited; a page may have a title of any length


@dataclass(frozen=True, slots=True)
class Source(Strict):
    """A document as a reader cites it; `rank` joins it to its DocumentVerdict."""

    rank: Annotated[int, Field(ge=1)]
    title: str
    url: str

    @classmethod
    def of(cls, document: Document) -> Self:
        """The citation of a document; of its title, the first `TITLE_CHARACTERS`."""
        return cls(document.rank, document.title[:TITLE_CHARACTERS], document.url)


@dataclass(frozen=True, slots=True)
class AnswerEvent(Strict):
    """The defended answer of one query at one step. Key: `query_id`, identity: `query_id/step`.

    `undefended_answer` is what the same generator said from all documents at once, present when
    the job compares; `changed` tells whether the answer means something else than the previous
    step's, None when there is none to compare with. `support` says what is behind the answer, None
    without one; `standing` is the last confirmed answer where this snapshot does not confirm it.
    `options` are those of the defence, as JSON; `withstand` is how many of the sites that were
    read may lie without a false answer, None where no rule counts sites. `wanted_more` says that
    the documents ended before that was settled, `result_pages` how many pages of results a search
    service gave for it, None without one. `reranking` says how a reranker chose the documents, None
    without one; ranks everywhere else are those of its order.
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
    status: Annotated[AnswerStatus, Field(description=TOLD_APART)]
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
        """The documents that the defence was shown; not what was ruled out or dropped before."""
        return tuple(d for d in self.verdict.documents if d.reason not in UNSEEN)

    @property
    def confidence(self) -> float | None:
        """How sure an answer is that was given, in [0, 1]; None for an abstention."""
        return None if self.abstention or self.support is None else self.support.confidence

    @property
    def falsified(self) -> bool:
        """Whether the previous answer was given up for this one; without an answer it stands."""
        gave_up = self.verdict.memory.decision is MemoryDecision.FALSIFIED
        return gave_up and self.abstention is None and self.changed is not False


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
    """A record that produced no answer, with its bytes (base64) so that it can be replayed.

    `disposition` is "poison" when the record itself is at fault, "outage" when a model or a clock
    was, or what the database remembered of the query.
    """

    reason: ReasonClass
    detail: str
    disposition: str
    source: str
    position: int
    attempts: int
    payload_base64: str
