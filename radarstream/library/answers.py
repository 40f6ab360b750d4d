"""What a guard answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from radarstream.schemas.claims import CheckedClaim, ClaimVerdict, Stance
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import Abstention, MemoryVerdict, Reason


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """One document as it was given, and what the defence decided about it.

    `rank` counts from 1 in the order of the documents, whatever a reranker made of it. `answer` is
    what this document alone answers, None where it says nothing or was not asked.

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

    `changed` tells whether the answer means something else than the previous one to this question;
    None where there is none to compare with. `memory` says what became of the previous answer.
    `event` is the answer as the pipeline publishes it, with everything that a check needs.

    >>> from radarstream import Guard
    >>> with Guard(profile="scripted") as guard:
    ...     answer = guard.answer("What is the capital?", ["It is Lima.", "It is Cusco."])
    >>> answer.abstained, answer.status.value, [judged.rank for judged in answer.kept]
    (True, 'abstained', [])
    """

    question: str
    text: str
    abstention: Abstention | None
    changed: bool | None
    documents: tuple[JudgedDocument, ...]
    event: AnswerEvent = field(repr=False)

    @property
    def abstained(self) -> bool:
        """Whether there is no answer; `text` then says so."""
        return self.abstention is not None

    @property
    def status(self) -> AnswerStatus | None:
        """What the answer rests on."""
        return self.event.status

    @property
    def support(self) -> Support | None:
        """What is behind the answer, or what would have been it, and against it; None without."""
        return self.event.support

    @property
    def standing(self) -> StandingAnswer | None:
        """The last confirmed answer, where this one does not confirm it."""
        return self.event.standing

    @property
    def kept(self) -> tuple[JudgedDocument, ...]:
        """The documents that the answer rests on."""
        return tuple(judged for judged in self.documents if judged.kept)

    @property
    def rejected(self) -> tuple[JudgedDocument, ...]:
        """The documents that were not trusted."""
        return tuple(judged for judged in self.documents if not judged.kept)

    @property
    def memory(self) -> MemoryVerdict:
        """What the defence made of its memory."""
        return self.event.verdict.memory


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim that was checked: what became of it, and the answer to its question behind that."""

    found: CheckedClaim
    answer: Answer

    @property
    def verdict(self) -> ClaimVerdict:
        """Supported, refuted, disputed or not enough evidence."""
        return self.found.verdict

    @property
    def supporting(self) -> tuple[JudgedDocument, ...]:
        """The documents that support the claim."""
        return self._taking(Stance.SUPPORTS)

    @property
    def contradicting(self) -> tuple[JudgedDocument, ...]:
        """The documents that contradict it."""
        return self._taking(Stance.CONTRADICTS)

    def _taking(self, stance: Stance) -> tuple[JudgedDocument, ...]:
        reranking = self.answer.event.reranking
        ranks = {
            rank if reranking is None else reranking.found_rank(rank)
            for rank, taken in self.found.stances
            if taken is stance
        }
        return tuple(judged for judged in self.answer.documents if judged.rank in ranks)


def answer_of(event: AnswerEvent, given: Sequence[Any]) -> Answer:
    """Join an event to the documents that it judges."""
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
    )
