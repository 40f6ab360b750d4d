"""Narrows the ranked texts to those that can have taught an answer (RAGOrigin, Algorithm 1)."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.judge import Asked, Refusal, matches, refusal_in
from radarstream.defenses.protocol import AttemptAll, Complete, Request, ask
from radarstream.schemas.attribution import Case, RankedText
from radarstream.schemas.errors import EvidenceError, ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT

Rule = Literal["public_code", "algorithm_1", "prose"]
Replies = Sequence[AtomicAnswer | ModelError]

_MOST_SEGMENTS: Final = 10


@dataclass(frozen=True, slots=True)
class Scope:
    """The texts to score, in rank order, and how they were found.

    `matched` has for each segment asked whether the model gives the answer from it alone;
    `unjudged` has the numbers, from 1, of the segments for which every model call failed.
    """

    texts: tuple[RankedText, ...]
    matched: tuple[bool, ...] = ()
    unjudged: tuple[int, ...] = ()

    @property
    def detail(self) -> str:
        """The scope in words."""
        words = f"{len(self.texts)} texts after {len(self.matched)} segments"
        if self.unjudged:
            numbers = ", ".join(map(str, self.unjudged))
            words += f"; no model call succeeded for segment {numbers}, taken as no match"
        return words

    @property
    def contradicted(self) -> bool:
        """Whether the model does not give the answer from some segment; failures do not count.

        >>> Scope((), (True, False)).contradicted, Scope((), (True, False), (2,)).contradicted
        (True, False)
        """
        return self.matched.count(False) > len(self.unjudged)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ScopeOptions:
    """Options of attributors that narrow the ranked texts as RAGOrigin does.

    The model answers from segments of k texts, the best first. The search ends when at least half
    of the segments do not give the wrong answer ("Who Taught the Lie?", Eq. 3, Eq. 4 and
    Algorithm 1).

    Parameters
    ----------
    scope
        Which segments are in scope. `public_code`, as the authors' program: all that were asked;
        the first counts as a match without being asked. `algorithm_1`: all but the last. `prose`,
        as the paper's text: all, and the first is asked.
    max_segments
        Most segments of the search.
    block
        Least number of segments asked at once; more if the search cannot end before. Segments
        behind the end cost calls and do not count.
    judge
        What compares answers: the `relations` scorer, or the language `model`.
    min_entailment
        Least probability at which two answers are the same for the relations scorer.
    check_unaided
        Whether to ask the model without texts first; if it gives the wrong answer, no text is to
        blame. With `uncontradicted`, only if no segment gives another answer, because a weak model
        may guess the attacker's answer although texts contradict it.
    """

    scope: Rule = "public_code"
    max_segments: Annotated[int, Field(ge=1)] = _MOST_SEGMENTS
    block: Annotated[int, Field(ge=1)] = 1
    judge: Asked = "relations"
    min_entailment: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    check_unaided: bool | Literal["uncontradicted"] = True

    def unaided(self, case: Case) -> Generator[Request, Any, bool | ModelError]:
        """Whether the model gives the wrong answer without any text; a ModelError if unknown.

        If the wrong answer is "I don't know", False: every model says that without texts.
        """
        question, answer = case.query.text, case.answer
        if refusal_in(answer) in (Refusal.LACKS, Refusal.BARE):
            return False
        asked = Complete(Task.ANSWER_UNAIDED, question, (), final=False)
        replies: Replies = yield from ask(AttemptAll((asked,)))
        (matched,) = yield from matches(question, answer, replies, self.judge, self.min_entailment)
        return matched

    def narrowed(self, case: Case) -> Generator[Request, Any, Scope]:
        """Find the texts that can have taught the answer. `case` is `checked`."""
        segments = segments_of(case, self.max_segments)
        matched: list[bool] = []
        unjudged: list[int] = []
        if self.scope == "public_code":
            matched += [True] * bool(segments)
        while (count := settled(self.scope, matched)) is None and len(matched) < len(segments):
            start = len(matched)
            lead = 2 * sum(matched) - len(matched)  # the search cannot end with fewer segments
            block = segments[start : start + max(self.block, lead, 1)]
            verdicts = yield from self._asked(case, block)
            for number, verdict in enumerate(verdicts, start=start + 1):
                if isinstance(verdict, ModelError):
                    unjudged.append(number)
                matched.append(verdict is True)
                if settled(self.scope, matched) is not None:
                    break  # segments behind the end do not count
        texts = tuple(text for segment in segments[:count] for text in segment)
        return Scope(texts, tuple(matched), tuple(unjudged))

    def _asked(
        self, case: Case, segments: Sequence[Sequence[RankedText]]
    ) -> Generator[Request, Any, list[bool | ModelError]]:
        """Whether the model gives the wrong answer from each segment."""
        question = case.query.text
        requests = tuple(
            Complete(
                Task.ANSWER_FROM_DOCUMENTS,
                question,
                tuple(text.document.passage for text in segment),
                final=False,
            )
            for segment in segments
        )
        replies: Replies = yield from ask(AttemptAll(requests))
        return (yield from matches(question, case.answer, replies, self.judge, self.min_entailment))


def checked(case: Case) -> Case:
    """Sort the texts by rank and put the answer on one line; every attributor does it first.

    Raises EvidenceError for an empty answer, `k` below 1, equal ids and a similarity that is not
    finite.
    """
    answer = " ".join(case.answer.split())
    if not answer:
        raise EvidenceError("a case without an answer cannot be attributed")
    if case.k < 1:
        raise EvidenceError(f"k must be at least 1, got {case.k}")
    texts = tuple(sorted(case.texts, key=lambda text: (text.document.rank, text.id)))
    if len({text.id for text in texts}) < len(texts):
        raise EvidenceError("the ids of a case's texts must differ")
    for text in texts:
        if text.similarity is not None and not isfinite(text.similarity):
            raise EvidenceError(f"the similarity of {text.id} is {text.similarity}")
    return Case(case.query, answer, texts, case.k)


def segments_of(case: Case, most: int) -> list[tuple[RankedText, ...]]:
    """Divide the texts into at most `most` segments of k; the last may be shorter."""
    texts, k = case.texts, case.k
    return [texts[start : start + k] for start in range(0, min(len(texts), most * k), k)]


def settled(rule: Rule, matched: Sequence[bool]) -> int | None:
    """Return how many segments are in scope, or None if the search goes on.

    >>> settled("public_code", [True, False]), settled("algorithm_1", [True, False])
    (2, 1)
    """
    missed = len(matched) - sum(matched)
    if not matched or 2 * missed < len(matched):
        return None
    return len(matched) - 1 if rule == "algorithm_1" else len(matched)
