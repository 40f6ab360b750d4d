"""What a study of defences writes down; everything else is worked out from these rows."""

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import Cost, Material, RowStore, StudyRow
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import Document, Labels
from radarstream.schemas.verdict import Verdict

ROWS, EVIDENCE = "rows.jsonl", "evidence.jsonl"

Key = tuple[str, str, str, int]  # contender, condition, query id, step
RowT = TypeVar("RowT", "Row", "EvidenceRow")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(StudyRow):
    """One contender's answer to one snapshot. With `error`, there is no verdict and no score.

    `changed` is whether the answer means something else than the previous one, as in an answer
    event; None where there is none to compare with. `status` and `confidence`, in [0, 1], are the
    event's. `poisoned_sites` counts the sites of the planted documents.
    """

    observed_at: datetime
    labels: Labels
    verdict: Verdict | None
    state_bytes: int = 0
    changed: bool | None = None
    status: str | None = None
    confidence: float | None = None
    poisoned_sites: int | None = None

    @property
    def response(self) -> str | None:
        """The answer's text; None for an abstention or an error."""
        if self.verdict is None or self.verdict.abstained:
            return None
        return self.verdict.answer


@dataclass(frozen=True, slots=True)
class EvidenceRow(Material):
    """What every contender saw of one snapshot under one condition, for whoever re-checks a cell.

    `answers` has one text per document, None for an abstention; `entailment` and `contradiction`
    are (n, n) over the informative ones, rounded to four decimals. `cost` is what reading asked of
    the models, `relation_seconds` what relating took when it was first done. `reranking` says how a
    reranker chose the documents; the ranks of documents and labels are those of its order.
    """

    condition: str
    query_id: str
    question: str
    step: int
    observed_at: datetime
    documents: tuple[Document, ...]
    labels: Labels
    answers: tuple[str | None, ...] = ()
    entailment: tuple[tuple[float, ...], ...] = ()
    contradiction: tuple[tuple[float, ...], ...] = ()
    relation_seconds: float = 0.0
    reranking: Reranking | None = None
    cost: Cost = Cost()

    key = property(attrgetter("condition", "query_id", "step"))


FILES = {Row: ROWS, EvidenceRow: EVIDENCE}


def counted(store: RowStore, record: StudyRecord, kind: type[RowT]) -> list[RowT]:
    """The rows of the questions asked last, whoever answered them."""
    return [row for row in store.of(kind).values() if row.query_id in record.asked]
