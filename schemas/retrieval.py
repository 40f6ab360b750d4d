"""The input and the result of a reranker: candidates, and the decision about each."""

from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from radarstream.schemas.snapshot import ABSENT_UNSET, Document, Query, SearchSnapshot, Strict
from radarstream.schemas.verdict import Reason


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """The candidates of a question, of which a reranker keeps at most `keep` (K in the papers).

    `similarities` are the retriever's scores of the documents, in [-1, 1] for cosines.

    """

    query: Query
    documents: tuple[Document, ...]
    similarities: tuple[float, ...]
    keep: int


@dataclass(frozen=True, slots=True)
class JudgedCandidate(Strict):
    """The decision about one candidate.

    `rank` is its place in the new order, `found_rank` its rank in the search results. `score`
    orders candidates, higher first; `penalty` is what the method took off the similarity. Both are
    None if the method has no such quantity or did not test this candidate.
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
    """The candidates of one question in their new order, kept ones first.

    `models` are the ids of the models that only this method uses, substitutes marked as such.
    """

    method: str
    candidates: tuple[JudgedCandidate, ...]
    models: Annotated[tuple[str, ...] | None, ABSENT_UNSET] = None

    @property
    def kept(self) -> tuple[JudgedCandidate, ...]:
        """The candidates that the defence sees, best first."""
        return tuple(candidate for candidate in self.candidates if candidate.kept)

    @property
    def dropped(self) -> tuple[JudgedCandidate, ...]:
        """The candidates that the defence does not see, in order."""
        return tuple(candidate for candidate in self.candidates if not candidate.kept)

    def found_rank(self, rank: int) -> int:
        """Return the rank in the search results of the document at the new `rank`."""
        return {c.rank: c.found_rank for c in self.candidates}.get(rank, rank)

    def renumbered(self, snapshot: SearchSnapshot) -> SearchSnapshot:
        """Give the documents and labels of a snapshot their new ranks; others keep theirs."""
        new = {c.found_rank: c.rank for c in self.candidates}
        documents = tuple(replace(d, rank=new.get(d.rank, d.rank)) for d in snapshot.documents)
        labels = snapshot.labels
        if labels is not None:
            poisoned = sorted(new.get(rank, rank) for rank in labels.poisoned_ranks)
            labels = replace(labels, poisoned_ranks=tuple(poisoned))
        return replace(snapshot, documents=documents, labels=labels)

    def without_dropped(self, renumbered: SearchSnapshot) -> SearchSnapshot:
        """Return a snapshot in the new order without the dropped documents."""
        dropped = {c.rank for c in self.dropped}
        documents = tuple(d for d in renumbered.documents if d.rank not in dropped)
        return replace(renumbered, documents=documents)
