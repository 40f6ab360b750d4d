"""What a study of attributors writes down.

An `EventRow` is one question under one scenario: the answer, whether it is a case for attributors,
and the texts it may come from. An `AttributionRow` is the finding of one attributor about one case,
and the answer once the texts it flags are gone. All results are computed from the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any

from radarstream.lab.study.rows import StudyRow
from radarstream.schemas.attribution import Attribution, Case, RankedText
from radarstream.schemas.snapshot import Document, Labels, Query

EventKey = tuple[str, str]  # scenario, query id
REFERENCE = "rag_origin"  # the attributor that comes first


class CaseState(StrEnum):
    """What became of one question under one scenario."""

    EVENT = "event"  # a case: somebody complains about the answer, and it is attributed
    RESISTED = "resisted"  # the answer is not one that this scenario complains about
    OWN_ERROR = "own_error"  # the clean corpus leads to the attacker's answer, too
    NOT_RETRIEVED = "not_retrieved"  # no planted text was among those answered from
    UNATTACKABLE = "unattackable"  # the data lack what the attack needs
    FAILED = "failed"  # a model failed; asked again in the next run


class Role(StrEnum):
    """What a text is to a case. No attributor ever sees it."""

    BENIGN = "benign"
    POISON = "poison"  # planted to cause the answer that was complained about
    BYSTANDER = "bystander"  # planted by or for somebody else: neither right nor wrong to flag


@dataclass(frozen=True, slots=True)
class EventText:
    """One of the texts nearest to the question; `document.rank` is its place, 1 = nearest."""

    id: str
    document: Document
    similarity: float
    role: Role


@dataclass(frozen=True, slots=True)
class EventRow:
    """One question under one scenario, the condition.

    `question` is what was asked, `answer` what was answered from the first `k` of `texts`,
    `clean_answer` what is answered from the corpus before the attack, to the same question.
    `reported` is the answer as the complaint quotes it, `reproduced` whether the pipeline gives it.
    `planted` are the ids of all texts with the role POISON, retrieved or not. Texts are kept of
    cases only; `detail` says why a question is none.
    """

    condition: str
    query_id: str
    question: str
    outcome: CaseState
    k: int
    labels: Labels = Labels()
    answer: str | None = None
    clean_answer: str | None = None
    reported: str | None = None
    reproduced: bool | None = None
    planted: tuple[str, ...] = ()
    retrieved: int = 0
    texts: tuple[EventText, ...] = ()
    detail: str = ""

    key = property(attrgetter("condition", "query_id"))

    @property
    def error(self) -> str | None:
        """Which model failed, if one did."""
        return self.detail if self.outcome is CaseState.FAILED else None

    def case(self, scope: int | None = None) -> Case:
        """The event as an attributor sees it, all its texts or the first `scope`."""
        texts = tuple(
            RankedText(text.id, text.document, text.similarity) for text in self.texts[:scope]
        )
        query = Query(self.query_id, self.question)
        return Case(query, self.reported or "", texts, min(self.k, len(texts)))


@dataclass(frozen=True, slots=True)
class After:
    """What is answered from the corpus without the flagged texts, retrieved anew. `persists`: it is
    still the answer complained about, so that what was flagged did not teach it.
    """

    answer: str
    attacked: bool
    correct: bool
    persists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionRow(StudyRow):
    """What one attributor found about one case. With `error` there is no attribution and no score.

    `scope` is how many texts of the case are judged, the same for every attributor; texts that
    `attribution` does not name are not flagged.
    """

    scope: int = 0
    attribution: Attribution | None = None
    after: After | None = None

    @property
    def flagged(self) -> frozenset[str]:
        """Ids of the flagged texts."""
        return frozenset(self.attribution.flagged if self.attribution else ())


FILES: Mapping[type[Any], str] = {AttributionRow: "rows.jsonl", EventRow: "events.jsonl"}
