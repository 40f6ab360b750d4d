"""What a study of rerankers writes down.

A `PoolRow` is one question under one condition: the candidates, nearest first, and which of them an
attacker planted. A `RerankingRow` is the order that one reranker gives a pool, a `GuardedRow` the
answer of a defence from the documents that a reranker kept. All results are computed from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

from radarstream.lab.study.rows import PassageRow, StudyRow
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Labels

ALONE = "alone"  # a reranker by itself, in the column of what stands behind it
Key = tuple[str, str]  # condition, query id


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text of a pool; its place in the pool, counted from 1, is its rank. `right` says that the
    text names a right answer as whole words.
    """

    id: str
    similarity: float
    planted: bool
    right: bool


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One question under one condition, `question` as it was asked. Without candidates the question
    cannot be attacked, and `detail` says why.
    """

    error: ClassVar[None] = None  # a retriever that fails ends the run

    condition: str
    query_id: str
    question: str
    candidates: tuple[Candidate, ...] = ()
    labels: Labels = Labels()
    detail: str = ""

    key = property(attrgetter("condition", "query_id"))

    @property
    def planted(self) -> frozenset[int]:
        """The ranks of the planted texts."""
        return frozenset(rank for rank, one in enumerate(self.candidates, 1) if one.planted)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankingRow(StudyRow):
    """What one reranker made of one pool, in its new order. With `error` there is no order."""

    candidates: tuple[JudgedCandidate, ...] = ()

    @property
    def kept(self) -> tuple[int, ...]:
        """The ranks in the pool of what is kept, best first."""
        return tuple(one.found_rank for one in self.candidates if one.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedRow(StudyRow):
    """What a defence behind a reranker answers; None is an abstention. The contender is both."""

    answer: str | None = None


FILES: Mapping[type[Any], str] = {
    RerankingRow: "rows.jsonl",
    GuardedRow: "answers.jsonl",
    PoolRow: "pools.jsonl",
    PassageRow: "passages.jsonl",
}
