"""Search results before a defence sees them: candidates, and what became of each."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from radarstream.schemas.snapshot import Document, Query, Strict
from radarstream.schemas.verdict import Reason


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """What was retrieved for a question, of which `keep` documents are wanted, K in the papers.

    `similarities` are the retriever's scores of the documents, in [-1, 1] for cosines.
    """

    query: Query
    documents: tuple[Document, ...]
    similarities: tuple[float, ...]
    keep: int


@dataclass(frozen=True, slots=True)
class JudgedCandidate(Strict):
    """What became of one candidate.

    `rank` is its place in the new order, `found_rank` its rank in the search results. `score`
    orders candidates, higher first, and `penalty` is what the method took off the similarity;
    None where the method has no such quantity or did not test this candidate.
    """

    rank: Annotated[int, Field(ge=1)]
    found_rank: Annotated[int, Field(ge=1)]
    kept: bool
    similarity: float
    reason: Reason | None = None  # why it was dropped; None while it is kept
    score: float | None = None
    penalty: float | None = None


@dataclass(frozen=True, slots=True)
class Reranking(Strict):
    """The candidates of one question in their new order, kept ones first."""

    method: str
    candidates: tuple[JudgedCandidate, ...]

    @property
    def kept(self) -> tuple[JudgedCandidate, ...]:
        """Those that the defence sees, best first."""
        return tuple(candidate for candidate in self.candidates if candidate.kept)
