"""The input of a defence for one snapshot: documents, atomic answers, pairwise relations."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.snapshot import Document, Query, Strict

FloatArray = NDArray[np.float64]

Quote = tuple[int, int]  # part of a text: start and end, in characters, as in text[start:end]
AGREEMENT: Final = 0.5  # least probability at which one answer entails, or contradicts, another


@dataclass(frozen=True, slots=True)
class AtomicAnswer(Strict):
    """The answer of a model from one document alone.

    `quote` is where the document's passage says it, None if that was not checked. `not_in_text`
    means that the answer became an abstention because the passage does not say it.
    """

    text: str
    abstained: bool = False
    quote: Quote | None = None
    not_in_text: bool = False


@dataclass(frozen=True, eq=False)
class Relations:
    """Relations between the n informative atomic answers of a snapshot.

    `entailment[i, j]` is the probability that answer i entails answer j, `contradiction[i, j]` that
    it contradicts j; both are (n, n). The diagonal of `entailment` is small for an answer that
    steers the judge; defences ignore diagonals. Raises EvidenceError for a wrong shape, a value
    outside [0, 1] or NaN.
    """

    entailment: FloatArray
    contradiction: FloatArray

    def __post_init__(self) -> None:
        for name in ("entailment", "contradiction"):
            _check_probabilities(name, getattr(self, name))
        if self.entailment.shape != self.contradiction.shape:
            raise EvidenceError("entailment and contradiction differ in shape")

    def __len__(self) -> int:
        return int(self.entailment.shape[0])


@dataclass(frozen=True, eq=False)
class Evidence:
    """One snapshot as a defence sees it: without labels, documents in ascending rank.

    `relations` covers the informative documents only, in the order of `informative`; None if the
    defence needs none. Raises EvidenceError for wrong ranks or lengths.
    """

    query: Query
    observed_at: datetime
    documents: tuple[Document, ...]
    answers: tuple[AtomicAnswer, ...] | None = None
    relations: Relations | None = None

    def __post_init__(self) -> None:
        ranks = [document.rank for document in self.documents]
        if ranks != sorted(set(ranks)):
            raise EvidenceError(f"documents must come in ascending, distinct ranks, got {ranks}")
        if self.answers is not None and len(self.answers) != len(self.documents):
            raise EvidenceError(
                f"{len(self.answers)} atomic answers for {len(self.documents)} documents"
            )
        if self.relations is not None and len(self.relations) != len(self.informative):
            raise EvidenceError(
                f"relations cover {len(self.relations)} answers, "
                f"{len(self.informative)} are informative"
            )

    @cached_property
    def informative(self) -> tuple[int, ...]:
        """Indices of the documents whose atomic answer is not an abstention."""
        return tuple(i for i, answer in enumerate(self.answers or ()) if not answer.abstained)


def _check_probabilities(name: str, matrix: FloatArray) -> None:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise EvidenceError(f"{name} must be square, got shape {matrix.shape}")
    valid = np.isfinite(matrix) & (matrix >= 0.0) & (matrix <= 1.0)
    if not valid.all():
        row, column = np.argwhere(~valid)[0]
        raise EvidenceError(
            f"{name}[{row}, {column}] = {matrix[row, column]!r} is not a probability"
        )
