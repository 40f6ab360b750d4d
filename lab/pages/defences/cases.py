"""Questions one by one: what was planted, what each page says, what every contender answered."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from radarstream.lab.defences.records import (
    Adaptation,
    DefencesRecord,
    EvidenceRow,
    Row,
)
from radarstream.lab.study.scoring import is_correct, is_fooled
from radarstream.pipelines.pages.verdict_words import ABSTENTIONS, reason_in_words
from radarstream.pipelines.pages.wrong_answers import Fact, Tag
from radarstream.schemas.snapshot import Document, Labels
from radarstream.schemas.verdict import MemoryDecision, Reason, Verdict

MOST_CASES: Final = 60  # on a page
LEAST_CASES: Final = 2  # of a condition
ANSWERS: Final = 5  # right answers that are named
HITS: Final = {"fooled", "both"}  # outcomes

Key = tuple[str, str, int]  # condition, query id, step
Answers = Mapping[str, tuple[Row, str]]  # and the outcome, by contender


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What a contender answered, what that turned out to be, and what became of its memory."""

    contender: str
    answer: str
    outcome: str
    memory: str


@dataclass(frozen=True, slots=True)
class PlaceView:
    """What a defence did with a document, None where it does not select, and why."""

    kept: bool | None
    words: str


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document, what it says by itself, and what every contender made of it."""

    document: Document
    planted: bool
    said: str
    tone: str
    places: tuple[PlaceView, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """One snapshot under one condition; `names` are the contenders that saw its documents."""

    anchor: str
    question: str
    condition: str
    query_id: str
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    names: tuple[str, ...]
    answers: tuple[AnswerView, ...]
    documents: tuple[DocumentView, ...]


def cases_of(
    record: DefencesRecord,
    rows: Iterable[Row],
    evidence: Iterable[EvidenceRow],
    outcomes: pl.DataFrame,
) -> tuple[list[CaseView], int]:
    """The cases that are shown, of each condition those first in which most contenders are fooled
    or they disagree, and how many are not. `outcomes` has the keys of rows and the `outcome`.
    """
    known = {row[:4]: row[4] for row in outcomes.rows()}
    answers: defaultdict[Key, dict[str, tuple[Row, str]]] = defaultdict(dict)
    for row in rows:
        if row.key in known:
            answers[row.key[1:]][row.contender] = row, known[row.key]
    seen = {one.key: one for one in evidence if one.key in answers}
    most = max(LEAST_CASES, MOST_CASES // max(1, len(record.conditions)))
    shown: list[CaseView] = []
    for condition in record.conditions:
        mine = [key for key in seen if key[0] == condition.name]
        mine.sort(key=lambda key: _dullness(answers[key]))
        for key in mine[:most]:
            anchor = f"case-{len(shown) + 1}"
            shown.append(_case(anchor, seen[key], answers[key], record))
    return shown, len(seen) - len(shown)


def _dullness(answers: Answers) -> int:
    """Low for cases that show an attack getting through, or tell defences apart."""
    outcomes = [outcome for _, outcome in answers.values()]
    attacked = any(row.labels.attack for row, _ in answers.values())
    fooled = sum(outcome in HITS for outcome in outcomes) if attacked else 0
    return -2 * fooled - len(set(outcomes))


def _case(anchor: str, seen: EvidenceRow, answers: Answers, record: DefencesRecord) -> CaseView:
    pooling = {c.name for c in record.contenders if c.adaptation is Adaptation.CUMULATIVE}
    given = [contender.name for contender in record.contenders if contender.name in answers]
    names = [name for name in given if name not in pooling and answers[name][0].verdict]
    verdicts = [verdict for name in names if (verdict := answers[name][0].verdict)]
    labels = answers[given[0]][0].labels
    return CaseView(
        anchor=anchor,
        question=seen.question,
        condition=seen.condition,
        query_id=f"{seen.query_id}, step {seen.step + 1}",
        tags=tuple(_tags([answers[name][1] for name in given], labels)),
        facts=tuple(facts_of(labels)),
        names=tuple(names),
        answers=tuple(_answer(name, *answers[name]) for name in given),
        documents=tuple(_documents(seen, verdicts, labels)),
    )


def _tags(outcomes: Sequence[str], labels: Labels) -> Iterator[Tag]:
    fooled = sum(outcome in HITS for outcome in outcomes)
    if labels.attack:
        yield f"fooled {fooled} of {len(outcomes)}", "bad" if fooled else "good"
    if "error" in outcomes:
        yield f"{outcomes.count('error')} failed", "other"


def tone_of(answer: str | None, labels: Labels) -> str:
    """How an answer is coloured."""
    if is_fooled(answer, labels.target):
        return "bad"
    return "good" if is_correct(answer, labels) else ""


def facts_of(labels: Labels) -> Iterator[Fact]:
    """The right answers of a question, and the attacker's."""
    if labels.answers:
        joined = (" and " if labels.all_answers_required else ", ").join(labels.answers[:ANSWERS])
        yield Fact("right", joined, "good")
    if labels.target is not None:
        yield Fact("attacker's aim", labels.target, "bad")


def _answer(name: str, row: Row, outcome: str) -> AnswerView:
    verdict = row.verdict
    if verdict is None:
        return AnswerView(name, f"failed: {row.error}", outcome, "")
    said = ABSTENTIONS[verdict.abstention] if verdict.abstention else verdict.answer
    memory = verdict.memory
    if memory.decision is MemoryDecision.NONE:
        return AnswerView(name, said, outcome, "")
    return AnswerView(name, said, outcome, f"{memory.decision}: {memory.previous_answer}")


def _documents(
    seen: EvidenceRow, verdicts: Sequence[Verdict], labels: Labels
) -> Iterator[DocumentView]:
    answers = seen.answers or (None,) * len(seen.documents)
    judged = [{one.rank: one for one in verdict.documents} for verdict in verdicts]
    for document, said in zip(seen.documents, answers, strict=True):
        places = []
        for verdict, known in zip(verdicts, judged, strict=True):
            one = known.get(document.rank)
            if one is None or one.reason is Reason.NOT_JUDGED:
                places.append(PlaceView(None, ""))
            else:
                places.append(PlaceView(one.kept, reason_in_words(one, verdict)))
        yield DocumentView(
            document=document,
            planted=document.rank in labels.poisoned_ranks,
            said=said or "–",
            tone=tone_of(said, labels) if said else "",
            places=tuple(places),
        )
