"""What a defence is given about one snapshot: documents, atomic answers, pairwise relations."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.snapshot import Document, Query, Strict

FloatArray = NDArray[np.float64]

Quote = tuple[int, int]  # part of a text: its first character, and the one behind its last
AGREEMENT: Final = 0.5  # with at least this probability one answer entails, or contradicts, another


@dataclass(frozen=True, slots=True)
class AtomicAnswer(Strict):
    """The answer a model gave from one document alone; an abstention says nothing.

    `quote` is where the document's passage says it, None where nobody looked. `not_in_text` tells
    an abstention because the passage does not say what the model answered.
    """

    text: str
    abstained: bool = False
    quote: Quote | None = None
    not_in_text: bool = False


@dataclass(frozen=True, eq=False)
class Relations:
    """Directed NLI probabilities between the n informative atomic answers of a snapshot.

    `entailment[i, j]` is P(answer i entails answer j), `contradiction[i, j]` likewise; both are
    (n, n), values in [0, 1]. The diagonal of `entailment` is small for an answer that steers a
    judge; defences ignore diagonals. Raises EvidenceError on shape, range or NaN.
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
    """One snapshot as a defence sees it: no labels, no clock, documents in ascending rank.

    `relations` covers the informative documents only, in the order of `informative`; None when the
    defence did not ask for them.
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
