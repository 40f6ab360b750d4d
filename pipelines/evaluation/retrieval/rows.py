"""What a study of rerankers writes down.

A `PoolRow` is one question under one condition: the candidates, nearest first, and which of them an
attacker planted. A `RerankingRow` is what one reranker makes of a pool, a `GuardedRow` what a
defence answers from the documents that a reranker kept. All results are computed from these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from radarstream.pipelines.evaluation.study.rows import Cost, PassageRow
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Labels

ALONE = "alone"  # a reranker by itself, in the column of what stands behind it
PoolKey = tuple[str, str]  # condition, query id
RerankingKey = tuple[str, str, str]  # reranker, condition, query id
GuardedKey = tuple[str, str, str, str]  # reranker, condition, query id, defence


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text of a pool; its place in the pool, counted from 1, is its rank.

    `right` says that the text names a right answer as whole words.
    """

    id: str
    similarity: float
    planted: bool
    right: bool


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One question under one condition, `question` as it was asked.

    Without candidates the question cannot be attacked, and `detail` says why.
    """

    condition: str
    query_id: str
    question: str
    candidates: tuple[Candidate, ...] = ()
    answers: tuple[str, ...] = ()
    all_answers_required: bool = False
    target: str | None = None
    attack: str | None = None
    detail: str = ""

    @property
    def key(self) -> PoolKey:
        """What tells a pool from all others."""
        return self.condition, self.query_id

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return pools_of(self.condition)

    @property
    def error(self) -> None:
        """No pool has one: a retriever that fails ends the run."""
        return

    @property
    def labels(self) -> Labels:
        """What an evaluator knows about the question."""
        return Labels(self.answers, self.all_answers_required, self.target, self.attack)


@dataclass(frozen=True, slots=True)
class RerankingRow:
    """What one reranker made of one pool, in its new order. With `error` there is no order."""

    contender: str
    condition: str
    query_id: str
    candidates: tuple[JudgedCandidate, ...] = ()
    cost: Cost = Cost()
    error: str | None = None

    @property
    def key(self) -> RerankingKey:
        """What tells a row from all others."""
        return self.contender, self.condition, self.query_id

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return self.contender

    @property
    def kept(self) -> tuple[int, ...]:
        """The ranks in the pool of what is kept, best first."""
        return tuple(one.found_rank for one in self.candidates if one.kept)


@dataclass(frozen=True, slots=True)
class GuardedRow:
    """What the defence `before` which a reranker stands answers; None is an abstention."""

    contender: str
    condition: str
    query_id: str
    before: str
    answer: str | None = None
    error: str | None = None

    @property
    def key(self) -> GuardedKey:
        """What tells a row from all others."""
        return self.contender, self.condition, self.query_id, self.before

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return f"{self.before} behind {self.contender}"


def sound(row: RerankingRow | GuardedRow | None) -> bool:
    """Whether a row is there, without an error."""
    return row is not None and row.error is None


def pools_of(condition: str) -> str:
    """The author of the pools of a condition, beside the names of rerankers."""
    return f"pools of {condition}"


FILES: Mapping[type[Any], str] = {
    RerankingRow: "rows.jsonl",
    GuardedRow: "answers.jsonl",
    PoolRow: "pools.jsonl",
    PassageRow: "passages.jsonl",
}
