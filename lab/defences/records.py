"""What a study is made of and what it writes down.

A *condition* is what the attacker does, a *contender* is a defence with its options and its
adaptation to time, a *row* is one contender's answer to one snapshot under one condition. Rows
are appended as they are computed; everything else is worked out from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from radarstream.lab.attacks.protocol import Condition, Surface
from radarstream.lab.study.datasets import History
from radarstream.lab.study.halves import in_half
from radarstream.lab.study.judging import JUDGED_BY
from radarstream.lab.study.plugin import Request
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import Cost, Material, RowStore, StudyRow
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import Document, Labels
from radarstream.schemas.verdict import Verdict

ROWS, EVIDENCE = "rows.jsonl", "evidence.jsonl"

Key = tuple[str, str, str, int]  # contender, condition, query id, step
RowT = TypeVar("RowT", "Row", "EvidenceRow")


class Adaptation(StrEnum):
    """How a defence meets a history (RADAR, section 5.1): what it may carry to the next step."""

    OWN = "own"  # the defence's own state: RADAR's memory; nothing for static defences
    NONE = "none"  # every snapshot alone: static RADAR in time (Table 17)
    CUMULATIVE = "cumulative"  # a pool of all documents so far, newest first
    LIGHTWEIGHT = "lightweight"  # the previous answer, one line in the final prompt


@dataclass(frozen=True, slots=True)
class Contender:
    """One defence as it is compared. `name` is its heading in every table, unique in a run.

    `pool` is how many documents a cumulative snapshot shows; None for all. `alias` is the short
    name of defence and options, where there is one.
    """

    name: str
    defense: str
    options: tuple[tuple[str, Any], ...] = ()
    adaptation: Adaptation = Adaptation.OWN
    pool: int | None = None
    alias: str = ""


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
    reranker chose the documents, None without one; the ranks of documents and labels are those of
    its order. No contender is the author: evidence is compared, whatever code gathered it. What
    failed is in the answers.
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

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells a row from all others."""
        return self.condition, self.query_id, self.step


@dataclass(frozen=True, kw_only=True)
class DefencesRequest(Request):
    """Which contenders meet which conditions. `reference` is whom the others are compared with,
    None for RADAR if it takes part.
    """

    conditions: tuple[Condition, ...]
    contenders: tuple[Contender, ...]
    reference: str | None = None
    surface: str = Surface.LIST.value

    @cached_property
    def histories(self) -> tuple[History, ...]:
        """The histories of the questions that are asked, each snapshot cut to k documents."""
        return self.truncated(in_half(self.dataset.histories, self.half)[: self.limit])

    @cached_property
    def searched(self) -> tuple[History, ...]:
        """The histories whose documents make the corpus that is searched, uncut: those asked, of
        either half as many as the limit allows, and the first `limit` that bring documents, for
        questions whose documents are another data set.
        """
        everything = self.dataset.histories
        bringing = [h for h in everything if any(snapshot.documents for snapshot in h)]
        wanted = {h[0].query.id for h in (*self.histories, *bringing[: self.limit])}
        return tuple(history for history in everything if history[0].query.id in wanted)

    def exposed(self, surface: Surface) -> tuple[History, ...]:
        """The histories as an attack on that surface finds them. Attacks that borrow from other
        questions find all of them, however few are asked.
        """
        if surface is Surface.CORPUS:
            return self.searched
        return self.truncated(self.dataset.histories)

    def truncated(self, histories: Sequence[History]) -> tuple[History, ...]:
        """Histories of snapshots with their first k documents."""
        return tuple(
            tuple(replace(snapshot, documents=snapshot.documents[: self.k]) for snapshot in history)
            for history in histories
        )


@dataclass(frozen=True, kw_only=True)
class DefencesRecord(StudyRecord):
    """Provenance of a study of defences.

    `surface` says where attacks put their texts: into result lists, or into the corpus that is
    searched. `searched` is how many questions the corpus takes its documents from, 0 without a
    search. `reranker` says who chose the documents that contenders saw, empty for nobody.
    `owed` has one count per condition: the answers that each contender owes under it.
    """

    KIND: ClassVar[str] = "defences"
    SAME: ClassVar[Mapping[str, str]] = {
        **StudyRecord.SAME,
        "surface": "place that attacks put their texts",
        "searched": "questions whose documents are searched",
        "reranker": "reranker",
    }
    MEMBERS: ClassVar[tuple[str, ...]] = ("contenders", "conditions")

    questions: int
    snapshots: int
    conditions: tuple[Condition, ...]
    contenders: tuple[Contender, ...]
    reference: str = ""
    statistics: dict[str, Any] = field(default_factory=dict)
    surface: str = "list"
    searched: int = 0
    reranker: str = ""
    owed: dict[str, int] = field(default_factory=dict)

    def continuing(self, earlier: Self) -> Self:
        """Also keep who judged the answers, and what is counted of the same questions."""
        record = super().continuing(earlier)
        judged = (note for note in earlier.notes if note.startswith(JUDGED_BY))
        return replace(
            record,
            notes=tuple(dict.fromkeys((*judged, *record.notes))),
            statistics=earlier.statistics | self.statistics,
            owed=earlier.owed if earlier.asked == self.asked else {},
        )


FILES = {Row: ROWS, EvidenceRow: EVIDENCE}


def counted(store: RowStore, record: DefencesRecord, kind: type[RowT]) -> list[RowT]:
    """The rows of the questions asked last, whoever answered them."""
    return [row for row in store.of(kind).values() if row.query_id in record.asked]
