"""The input and the result of an attributor: which texts taught a wrong answer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from radarstream.schemas.snapshot import Document, Query, Strict


class Finding(StrEnum):
    """What an attribution concluded."""

    TEXTS_FLAGGED = "texts_flagged"
    NOTHING_FLAGGED = "nothing_flagged"
    INTRINSIC_ERROR = "intrinsic_error"  # the model gives the answer without any document
    NO_SEPARATION = "no_separation"  # the scores do not fall into two groups
    NO_DOCUMENTS = "no_documents"


@dataclass(frozen=True, slots=True)
class RankedText:
    """A text that may have taught an answer.

    `id` never changes; `document.rank` is its place by similarity to the question, 1 = nearest;
    `similarity` is None if unknown.
    """

    id: str
    document: Document
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A question, a wrong answer and the texts that may have taught it, best first.

    The model answered from the first `k` texts; an attributor may examine all of them.
    """

    query: Query
    answer: str
    texts: tuple[RankedText, ...]
    k: int


@dataclass(frozen=True, slots=True)
class TextScore(Strict):
    """One text in the scope of an attribution, with its evidence.

    `score` decides (higher = more suspect). RAGOrigin adds the embedding similarity, the semantic
    correlation and the generation influence, in natural logarithms per token; other methods leave
    them None.
    """

    id: str
    rank: Annotated[int, Field(ge=1)]
    flagged: bool
    score: float | None = None
    similarity: float | None = None
    semantic: float | None = None
    generation: float | None = None


@dataclass(frozen=True, slots=True)
class Attribution(Strict):
    """The result of an attributor for one case; `texts` is its scope, in rank order.

    `gap` is the mean score of the flagged texts less that of the others, `generation_gap` the same
    of the generation influence; None without two groups.
    """

    method: str
    finding: Finding
    texts: tuple[TextScore, ...] = ()
    gap: float | None = None
    generation_gap: float | None = None
    detail: str = ""

    @property
    def flagged(self) -> tuple[str, ...]:
        """Ids of the flagged texts, in rank order."""
        return tuple(text.id for text in self.texts if text.flagged)
