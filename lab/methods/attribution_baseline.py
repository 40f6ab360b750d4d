"""What the attributors that RAGOrigin is compared with share."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.scope import checked
from radarstream.defenses.kernels.responsibility import split_in_two
from radarstream.defenses.protocol import Attributing, Request, Signal
from radarstream.schemas.attribution import Attribution, Case, Finding, RankedText, TextScore
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import STRICT

Texts = tuple[RankedText, ...]
Judging = Generator[Request, Any, Attribution]


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Baseline(ABC):
    """An attributor that judges the texts of a case as they are ranked.

    Parameters
    ----------
    max_texts
        How many texts are judged, from the nearest on; None for all.
    """

    max_texts: Annotated[int, Field(ge=1)] | None = None

    method: ClassVar[str]
    needs: ClassVar[frozenset[Signal]] = frozenset()
    compares: ClassVar[bool] = False  # texts with each other: equal ones are not asked about

    def attribute(self, case: Case) -> Attributing:
        """Judge every text. Raises EvidenceError on malformed input."""
        case = checked(case)
        case = Case(case.query, case.answer, case.texts[: self.max_texts], case.k)
        shown = passages(case.texts)
        if len(set(shown) if self.compares else shown) < 2:
            return self.unseparated(case.texts)
        return (yield from self.judge(case, shown))

    @abstractmethod
    def judge(self, case: Case, shown: tuple[str, ...]) -> Judging:
        """Judge the two or more texts of a case, which a model reads as `shown`."""

    def unseparated(self, texts: Texts, scores: FloatArray | None = None) -> Attribution:
        """Flag nothing, because there are no two groups of texts to tell apart."""
        finding = Finding.NO_SEPARATION if texts else Finding.NO_DOCUMENTS
        nobody = np.zeros(len(texts), np.bool_)
        return Attribution(self.method, finding, _text_scores(texts, nobody, scores))

    def split(self, texts: Texts, scores: FloatArray) -> Attribution:
        """Flag the upper of the two groups that (n,) finite scores fall into, if they do."""
        split = split_in_two(scores)
        if split is None:
            return self.unseparated(texts, scores)
        return self.flagged(split.upper, texts, scores)

    def flagged(
        self, flags: NDArray[np.bool_], texts: Texts, scores: FloatArray, detail: str = ""
    ) -> Attribution:
        """Flag the texts that (n,) `flags` masks; of (n,) scores, higher ones are more suspect."""
        finding = Finding.TEXTS_FLAGGED if flags.any() else Finding.NOTHING_FLAGGED
        gap = None
        if flags.any() and not flags.all():
            gap = float(scores[flags].mean() - scores[~flags].mean())
        entries = _text_scores(texts, flags, scores)
        return Attribution(self.method, finding, entries, gap, detail=detail)


def passages(texts: Texts) -> tuple[str, ...]:
    """The texts as a model reads them."""
    return tuple(text.document.passage for text in texts)


def _text_scores(
    texts: Texts, flags: NDArray[np.bool_], scores: FloatArray | None
) -> tuple[TextScore, ...]:
    known = [None] * len(texts) if scores is None else scores.tolist()
    return tuple(
        TextScore(text.id, text.document.rank, bool(flag), score, similarity=text.similarity)
        for text, flag, score in zip(texts, flags, known, strict=True)
    )
