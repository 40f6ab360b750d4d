"""How far down the ranking texts can have taught an answer (RAGOrigin, Algorithm 1)."""

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
    """The texts to be scored, in rank order, and what was learnt on the way.

    `matched` tells of each segment that was looked at whether the model alone with it gives the
    answer; `unjudged` numbers those, from 1, of which nobody could tell.
    """

    texts: tuple[RankedText, ...]
    matched: tuple[bool, ...] = ()
    unjudged: tuple[int, ...] = ()

    @property
    def detail(self) -> str:
        """In words, for a person."""
        words = f"{len(self.texts)} texts after {len(self.matched)} segments"
        if self.unjudged:
            numbers = ", ".join(map(str, self.unjudged))
            words += f"; no model call succeeded for segment {numbers}, taken as no match"
        return words

    @property
    def contradicted(self) -> bool:
        """Whether the model, asked with a segment, does not give the answer; failures say nothing.

        >>> Scope((), (True, False)).contradicted, Scope((), (True, False), (2,)).contradicted
        (True, False)
        """
        return self.matched.count(False) > len(self.unjudged)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ScopeOptions:
    """Options of every attributor that narrows the ranked texts as RAGOrigin does.

    Segments of k texts are asked the question from the top. From "Who Taught the Lie?" (RAGOrigin),
    Eq. 3, Eq. 4 and Algorithm 1, whose search ends when at least half of the segments asked do not
    give the wrong answer.

    Parameters
    ----------
    scope
        Which segments count when the search ends. `public_code`, as the authors' program does it:
        the first is taken to give the answer and not asked, and the one that ends the search
        belongs to the scope, which therefore holds texts that taught nothing. `algorithm_1`: the
        one that ends the search does not. `prose`, the paper's text: it does, and the first is
        asked.
    max_segments
        The search ends here at the latest.
    block
        Segments asked at once, at least; more where the search cannot end before. Those asked in
        vain change nothing but the cost.
    judge
        Who compares answers: the `relations` scorer, or the language `model`.
    min_entailment
        The least probability at which the relations scorer finds two answers alike.
    check_unaided
        Whether the model is first asked without any text; if it gives the wrong answer by itself,
        no text is to blame. With `uncontradicted`, only if no segment asked makes it answer
        otherwise: a weak model guesses what an attacker would have it say, though texts contradict.
    """

    scope: Rule = "public_code"
    max_segments: Annotated[int, Field(ge=1)] = _MOST_SEGMENTS
    block: Annotated[int, Field(ge=1)] = 1
    judge: Asked = "relations"
    min_entailment: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    check_unaided: bool | Literal["uncontradicted"] = True

    def unaided(self, case: Case) -> Generator[Request, Any, bool | ModelError]:
        """Whether the model gives the wrong answer without any text; a ModelError if unknown.

        Not knowing is no answer of its own: a system with texts was made not to know.
        """
        question, answer = case.query.text, case.answer
        if refusal_in(answer) in (Refusal.LACKS, Refusal.BARE):
            return False
        asked = Complete(Task.ANSWER_UNAIDED, question, (), final=False)
        replies: Replies = yield from ask(AttemptAll((asked,)))
        (matched,) = yield from matches(question, answer, replies, self.judge, self.min_entailment)
        return matched

    def narrowed(self, case: Case) -> Generator[Request, Any, Scope]:
        """The texts that can have taught the answer. `case` is `checked`."""
        segments = segments_of(case, self.max_segments)
        matched: list[bool] = []
        unjudged: list[int] = []
        if self.scope == "public_code":
            matched += [True] * bool(segments)
        while (count := settled(self.scope, matched)) is None and len(matched) < len(segments):
            start = len(matched)
            block = segments[start : start + max(self.block, least_needed(matched))]
            verdicts = yield from self._asked(case, block)
            for number, verdict in enumerate(verdicts, start=start + 1):
                if isinstance(verdict, ModelError):
                    unjudged.append(number)
                matched.append(verdict is True)
                if settled(self.scope, matched) is not None:
                    break  # what was asked beyond has no say
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
    """Texts in rank order, the answer on one line.

    Raises EvidenceError on an empty answer, `k` below 1, an id that comes twice and a similarity
    that is not a finite number.
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
    """The first texts, k at a time; the last segment may be shorter."""
    texts, k = case.texts, case.k
    return [texts[start : start + k] for start in range(0, min(len(texts), most * k), k)]


def settled(rule: Rule, matched: Sequence[bool]) -> int | None:
    """How many segments are in scope, once the first few decide it; None while they do not.

    >>> settled("public_code", [True, False]), settled("algorithm_1", [True, False])
    (2, 1)
    """
    missed = len(matched) - sum(matched)
    if not matched or 2 * missed < len(matched):
        return None
    return len(matched) - 1 if rule == "algorithm_1" else len(matched)


def least_needed(matched: Sequence[bool]) -> int:
    """Segments without which the search cannot end: as many as matches lead by."""
    return max(1, 2 * sum(matched) - len(matched))
