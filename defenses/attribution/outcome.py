"""What the simple attributors share: which texts they judge, and how scores become a finding."""

from collections.abc import Generator, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from radarstream.defenses.attribution.scope import checked
from radarstream.defenses.kernels.responsibility import split_in_two
from radarstream.defenses.protocol import Complete, LogProbs, Request
from radarstream.defenses.responses import ask
from radarstream.schemas.attribution import (
    Attribution,
    Case,
    Finding,
    RankedText,
    TextScore,
)
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task

BoolArray = NDArray[np.bool_]
Texts = tuple[RankedText, ...]
MaxTexts = Annotated[int, Field(ge=1)] | None  # judged from the nearest on; None judges all


def judged(case: Case, most: MaxTexts) -> Case:
    """The case with the texts to judge, in rank order. Raises EvidenceError."""
    case = checked(case)
    return Case(case.query, case.answer, case.texts[:most], case.k)


def passages(texts: Texts) -> tuple[str, ...]:
    """The texts as a model reads them."""
    return tuple(text.document.passage for text in texts)


def log_probs_from(
    contexts: Sequence[tuple[str, ...]], case: Case
) -> Generator[Request, Any, FloatArray]:
    """(r, t) logarithms of the probability of each token of the answer, from each of r contexts.

    Equal contexts are asked once, so that a model's rounding cannot tell them apart. Raises
    EvidenceError on a malformed response.
    """
    places = {context: place for place, context in enumerate(dict.fromkeys(contexts))}
    rows = tuple(
        Complete(Task.ANSWER_FROM_DOCUMENTS, case.query.text, context, final=False)
        for context in places
    )
    logs = yield from ask(LogProbs(rows, case.answer))
    return np.asarray(logs[[places[context] for context in contexts]])


def unseparated(method: str, texts: Texts, scores: FloatArray | None = None) -> Attribution:
    """Flag nothing, because there are no two groups of texts to tell apart."""
    finding = Finding.NO_SEPARATION if texts else Finding.NO_DOCUMENTS
    return Attribution(method, finding, text_scores(texts, np.zeros(len(texts), np.bool_), scores))


def split_by(method: str, texts: Texts, scores: FloatArray) -> Attribution:
    """Flag the upper of the two groups that (n,) finite scores fall into, if they do."""
    split = split_in_two(scores)
    if split is None:
        return unseparated(method, texts, scores)
    return flagged_where(split.upper, method, texts, scores)


def flagged_beyond(
    threshold: float | None, method: str, texts: Texts, scores: FloatArray
) -> Attribution:
    """Flag the texts with scores above the threshold; None flags nothing and says so."""
    if threshold is None:
        nobody = np.zeros(len(texts), np.bool_)
        detail = "no threshold: nothing to compare with until benign texts are measured"
        return flagged_where(nobody, method, texts, scores, detail)
    return flagged_where(scores > threshold, method, texts, scores)


def flagged_where(
    flags: BoolArray, method: str, texts: Texts, scores: FloatArray, detail: str = ""
) -> Attribution:
    """Flag the texts that (n,) `flags` masks; of (n,) scores, higher ones are more suspect."""
    finding = Finding.TEXTS_FLAGGED if flags.any() else Finding.NOTHING_FLAGGED
    gap = None
    if flags.any() and not flags.all():
        gap = float(scores[flags].mean() - scores[~flags].mean())
    entries = text_scores(texts, flags, scores)
    return Attribution(method, finding, entries, gap, detail=detail)


def text_scores(texts: Texts, flags: BoolArray, scores: FloatArray | None) -> tuple[TextScore, ...]:
    """One entry per text, in the same order."""
    known = [None] * len(texts) if scores is None else scores.tolist()
    return tuple(
        TextScore(text.id, text.document.rank, bool(flag), score, similarity=text.similarity)
        for text, flag, score in zip(texts, flags, known, strict=True)
    )
