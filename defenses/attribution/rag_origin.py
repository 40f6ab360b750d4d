"""RAGOrigin: flags texts that are near the question and lead to the wrong answer."""

from collections.abc import Generator, Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.scope import Scope, ScopeOptions, checked
from radarstream.defenses.kernels.responsibility import LEAST, split_in_two, standard_scores
from radarstream.defenses.protocol import (
    Attributing,
    Complete,
    Embed,
    LogProbs,
    LogProbsAll,
    Request,
    Signal,
    ask,
)
from radarstream.schemas.attribution import Attribution, Case, Finding, RankedText, TextScore
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT

Score = Literal["similarity", "semantic", "generation"]

METHOD: Final = "rag_origin"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RagOrigin(ScopeOptions):
    """Scores the texts of a narrowed scope by similarity, semantics and influence, and splits them.

    From "Who Taught the Lie? Responsibility Attribution for Poisoned Knowledge in
    Retrieval-Augmented Generation" (RAGOrigin): embedding similarity of text and question (Eq. 5),
    semantic correlation, the mean log-probability of the question's tokens after the text (Eq. 6),
    and generation influence, that of the wrong answer's tokens after text and question (Eq. 7).
    Each becomes a z-score over the scope (population deviation); a text's responsibility is their
    mean (Eq. 8). Two-means in one dimension, exact here, flags the higher group.

    Flags nothing if the model gives the answer unaided (see `check_unaided`), if the scope has at
    most one text, and if all scores are equal. Two-means always finds two groups: with a `gap`
    below 1, a person should check them.

    Needs a model with token probabilities, unless `scores` is `similarity` alone.

    Parameters
    ----------
    scores
        Which of the three count, for ablations and for models without token probabilities.
    """

    scores: Annotated[frozenset[Score], Field(min_length=1)] = frozenset(
        ("similarity", "semantic", "generation")
    )

    @property
    def needs(self) -> frozenset[Signal]:
        """Token probabilities, unless only the similarity counts."""
        return frozenset() if self.scores == {"similarity"} else _PROBABILITIES

    def attribute(self, case: Case) -> Attributing:
        """Find the scope, score its texts and flag the responsible ones.

        Raises EvidenceError as `checked`.
        """
        case = checked(case)
        if not case.texts:
            return Attribution(METHOD, Finding.NO_DOCUMENTS)
        unaided = (yield from self.unaided(case)) if self.check_unaided else False
        if unaided is True and self.check_unaided is True:
            return Attribution(METHOD, Finding.INTRINSIC_ERROR, detail=_UNAIDED)
        scope = yield from self.narrowed(case)
        detail = scope.detail
        if unaided is True and not scope.contradicted:
            detail = f"{_UNAIDED}, and nothing contradicts it in {detail}"
            return Attribution(METHOD, Finding.INTRINSIC_ERROR, detail=detail)
        if unaided is True:
            detail += f"; {_UNAIDED}, but not with every segment"
        elif isinstance(unaided, ModelError):
            detail += "; whether the model gives this answer without any text is unknown"
        parts = yield from self.measured(case, scope)
        return concluded(scope, parts, detail)

    def measured(
        self, case: Case, scope: Scope
    ) -> Generator[Request, Any, dict[Score, FloatArray]]:
        """Measure the chosen scores of the n texts in scope, (n,) each."""
        parts: dict[Score, FloatArray] = {}
        if not scope.texts:
            return parts
        if "similarity" in self.scores:
            parts["similarity"] = yield from similarities(case.query.text, scope.texts)
        question = case.query.text
        asked: dict[Score, LogProbs] = {}
        if "semantic" in self.scores:
            predicted = " ".join(question.split())
            asked["semantic"] = _after_each(scope.texts, Task.PREDICT_QUESTION, "", predicted)
        if "generation" in self.scores:
            answer = case.answer
            asked["generation"] = _after_each(scope.texts, Task.ATOMIC_ANSWER, question, answer)
        if asked:
            responses = yield from ask(LogProbsAll(tuple(asked.values())))
            for name, response in zip(asked, responses, strict=True):
                parts[name] = response.clip(min=LEAST).mean(axis=1)
        return parts


_PROBABILITIES: Final = frozenset({Signal.TOKEN_PROBABILITIES})
_UNAIDED: Final = "the model gives this answer without any text"


def similarities(question: str, texts: Sequence[RankedText]) -> Generator[Request, Any, FloatArray]:
    """Return the retriever's similarities, (n,), or cosines if one of them is unknown."""
    known = [text.similarity for text in texts if text.similarity is not None]
    if len(known) == len(texts):
        return np.array(known, dtype=np.float64)
    rows = yield from ask(Embed((question, *(text.document.passage for text in texts))))
    return np.asarray(rows[1:] @ rows[0])


def _after_each(
    texts: Sequence[RankedText], task: Task, question: str, continuation: str
) -> LogProbs:
    rows = (Complete(task, question, (text.document.passage,), final=False) for text in texts)
    return LogProbs(tuple(rows), continuation)


def concluded(scope: Scope, parts: dict[Score, FloatArray], detail: str) -> Attribution:
    """Compute the responsibilities, split the texts, and make the attribution."""
    if not scope.texts:
        return Attribution(METHOD, Finding.NOTHING_FLAGGED, detail=detail)
    scores = np.mean([standard_scores(values) for values in parts.values()], axis=0)
    split = split_in_two(scores)
    texts = tuple(
        TextScore(
            id=text.id,
            rank=text.document.rank,
            flagged=split is not None and bool(split.upper[index]),
            score=float(scores[index]),
            **{name: float(values[index]) for name, values in parts.items()},
        )
        for index, text in enumerate(scope.texts)
    )
    if split is None:
        return Attribution(METHOD, Finding.NO_SEPARATION, texts, detail=detail)
    gap = None  # how much likelier the flagged texts make the answer, per token
    if (generation := parts.get("generation")) is not None:
        gap = float(generation[split.upper].mean() - generation[~split.upper].mean())
    return Attribution(METHOD, Finding.TEXTS_FLAGGED, texts, split.gap, gap, detail)
