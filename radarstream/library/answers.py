"""The results of a guard: answers, judged documents and checked claims."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from radarstream.pipelines.documents import Unread
from radarstream.schemas.claims import CheckedClaim, ClaimVerdict, Stance
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import Abstention, MemoryVerdict, Reason


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document with the decision of the defence.

    Parameters
    ----------
    document
        The object that the caller passed in.
    rank
        Its place in the caller's list, from 1, also where a reranker changed the order.
    kept, reason
        Whether the defence trusts it, and why.
    answer
        The answer of this document alone; None if it has none or the model was not asked.
    page
        The page that has the answer, from 1, in a document with pages.

    >>> JudgedDocument("Lima.", 1, True, Reason.SUPPORTED, "Lima").answer
    'Lima'
    """

    document: Any
    rank: int
    kept: bool
    reason: Reason
    answer: str | None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A defended answer.

    Parameters
    ----------
    question, text
        The question and the answer.
    abstention
        Why there is no answer; None if there is one.
    changed
        Whether the meaning differs from that of the previous answer to the question; None if there
        is no previous answer.
    documents
        All documents with the decisions about them, in the caller's order.
    event
        The event that a job would publish for this answer.
    unread
        The documents that could not be read, each with `rank`, `name`, `reason` and `why`.

    >>> from radarstream import Guard
    >>> says = ["Lima is the capital.", "Lima is its capital.", "Cusco is its capital."]
    >>> with Guard(profile="scripted") as guard:
    ...     answer = guard.answer("What is the capital?", says)
    >>> answer.abstained, answer.status.value, answer.memory.decision.value
    (False, 'disputed', 'none')
    >>> [judged.rank for judged in answer.kept], [judged.rank for judged in answer.rejected]
    ([1, 2], [3])
    >>> answer.support.sites_for, answer.support.rival_sites, answer.standing
    (2, 1, None)
    """

    question: str
    text: str
    abstention: Abstention | None
    changed: bool | None
    documents: tuple[JudgedDocument, ...]
    event: AnswerEvent = field(repr=False)
    unread: tuple[Unread, ...] = ()

    @property
    def abstained(self) -> bool:
        """Whether there is no answer; `text` then says so."""
        return self.abstention is not None

    @property
    def status(self) -> AnswerStatus | None:
        """What the answer rests on, for example corroborated or disputed."""
        return self.event.status

    @property
    def support(self) -> Support | None:
        """How many sites are for the answer and against it; None if no answer was weighed."""
        return self.event.support

    @property
    def standing(self) -> StandingAnswer | None:
        """The last confirmed answer; None if this answer confirms it."""
        return self.event.standing

    @property
    def kept(self) -> tuple[JudgedDocument, ...]:
        """The documents that the answer rests on."""
        return tuple(judged for judged in self.documents if judged.kept)

    @property
    def rejected(self) -> tuple[JudgedDocument, ...]:
        """The documents that the defence did not trust."""
        return tuple(judged for judged in self.documents if not judged.kept)

    @property
    def memory(self) -> MemoryVerdict:
        """What the defence decided about the previous answer."""
        return self.event.verdict.memory


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of `Guard.check`.

    `result` has the claim, its verdict and the number of sites on each side; `answer` is the answer
    to the question that the claim answers.

    >>> from radarstream import Guard
    >>> with Guard(profile="scripted") as guard:
    ...     pages = ["Lima is the capital of Peru.", "The capital of Peru is Lima."]
    ...     checked = guard.check("Lima is the capital of Peru.", pages)
    >>> checked.verdict.value, len(checked.supporting), checked.contradicting
    ('supported', 2, ())
    """

    result: CheckedClaim
    answer: Answer

    @property
    def verdict(self) -> ClaimVerdict:
        """Supported, refuted, disputed or not enough evidence."""
        return self.result.verdict

    @property
    def supporting(self) -> tuple[JudgedDocument, ...]:
        """The documents that support the claim."""
        return self._taking(Stance.SUPPORTS)

    @property
    def contradicting(self) -> tuple[JudgedDocument, ...]:
        """The documents that contradict the claim."""
        return self._taking(Stance.CONTRADICTS)

    def _taking(self, stance: Stance) -> tuple[JudgedDocument, ...]:
        reranking = self.answer.event.reranking
        ranks = {
            rank if reranking is None else reranking.found_rank(rank)
            for rank, taken in self.result.stances
            if taken is stance
        }
        return tuple(judged for judged in self.answer.documents if judged.rank in ranks)


def answer_of(event: AnswerEvent, given: Sequence[Any], unread: tuple[Unread, ...]) -> Answer:
    """Join an event to the documents `given` by the caller."""
    judged_at = {
        judged.rank if event.reranking is None else event.reranking.found_rank(judged.rank): judged
        for judged in event.verdict.documents
    }
    return Answer(
        question=event.question,
        text=event.answer,
        abstention=event.abstention,
        changed=event.changed,
        documents=tuple(
            JudgedDocument(
                given[rank - 1], rank, judged.kept, judged.reason, judged.atomic_answer, judged.page
            )
            for rank, judged in sorted(judged_at.items())
        ),
        event=event,
        unread=unread,
    )
