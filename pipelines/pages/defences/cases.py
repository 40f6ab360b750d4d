"""Every question under every condition, small enough to sit in the page and be unfolded there.

A case is one snapshot under one condition with what every contender made of it. Its texts are
written once per question; where a run is too large, the cases that teach most are kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from radarstream.pipelines.evaluation.defences.records import DefencesRecord, EvidenceRow, Row
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled
from radarstream.pipelines.pages.defences.case_verdict import Shared, compact_verdict
from radarstream.pipelines.pages.defences.commands import cell_command
from radarstream.pipelines.pages.island import island
from radarstream.pipelines.pages.safe_text import (
    domain,
    excerpt,
    safe_link,
    shorten,
    visible,
)
from radarstream.pipelines.pages.times import format_time
from radarstream.schemas.snapshot import Document, Labels

MAX_CASES = 4_000
MAX_CHARACTERS = 11_000_000  # of all cases together
TEXT_CHARACTERS = 1_000  # of a document


Key = tuple[str, str, int]  # condition, query id, step


@dataclass(frozen=True, slots=True)
class Cases:
    """`index` lists the chosen cases for the page's filter; `questions` holds one text per
    question with all of its cases.
    """

    index: str
    questions: tuple[str, ...]
    listed: int
    total: int


@dataclass
class Question:
    """The cases of one question, with the documents they share."""

    number: int
    query_id: str
    text: str
    documents: dict[tuple[Any, ...], int] = field(default_factory=dict)
    cases: list[dict[str, Any]] = field(default_factory=list)

    def place(self, document: tuple[Any, ...]) -> int:
        """Number of a document among the question's."""
        return self.documents.setdefault(document, len(self.documents))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a case needs of an evidence row."""

    question: str
    step: int
    date: str
    documents: tuple[tuple[tuple[Any, ...], int, str | None], ...]  # text, rank, atomic answer
    entailment: str
    contradiction: str


def build_cases(
    record: DefencesRecord,
    rows: Mapping[Key, Mapping[str, Row]],
    outcomes: Mapping[Key, Mapping[str, str]],
    evidence: Iterable[EvidenceRow],
) -> Cases:
    """Arrange a run's cases. `rows` and `outcomes` are by case, then by contender."""
    chosen = sorted(rows, key=lambda key: _dullness(rows[key], outcomes[key]))[:MAX_CASES]
    wanted = set(chosen)
    seen: dict[Key, Seen] = {}
    for row in evidence:
        key = (row.condition, row.query_id, row.step)
        if key in wanted:
            seen[key] = _seen(row)
    questions, shared = _fill(record, [key for key in chosen if key in seen], seen, rows, outcomes)
    order = {query_id: n for n, query_id in enumerate(dict.fromkeys(key[1] for key in rows))}
    listed = sorted(questions.values(), key=lambda question: order[question.query_id])
    conditions = [condition.name for condition in record.conditions]
    for number, question in enumerate(listed):
        question.number = number
        question.cases.sort(key=lambda case: (case["s"], case["c"]))
    return Cases(
        index=island(_index(record, conditions, listed, shared)),
        questions=tuple(island(_question(question)) for question in listed),
        listed=sum(len(question.cases) for question in listed),
        total=len(rows),
    )


def _dullness(rows: Mapping[str, Row], outcomes: Mapping[str, str]) -> int:
    """Low for cases that tell defences apart or show an attack getting through."""
    held = set(outcomes.values())
    right = held & {"correct", "both"}
    attacked = any(row.labels.attack for row in rows.values())
    fooled = attacked and bool(held & {"fooled", "both"})
    points = 4 * fooled + 3 * (bool(right) and held != right) + attacked + ("error" in held)
    return -points


def _seen(row: EvidenceRow) -> Seen:
    answers = row.answers or (None,) * len(row.documents)
    return Seen(
        question=shorten(row.question, 400),
        step=row.step,
        date=format_time(row.observed_at),
        documents=tuple(
            (_document(document, answer), document.rank, _atomic(answer))
            for document, answer in zip(row.documents, answers, strict=False)
        ),
        entailment=_digits(row.entailment),
        contradiction=_digits(row.contradiction),
    )


def _atomic(answer: str | None) -> str | None:
    return None if answer is None else shorten(answer, 240)


def _document(document: Document, answer: str | None) -> tuple[Any, ...]:
    found = excerpt(document.text, answer, TEXT_CHARACTERS)
    return (
        shorten(document.title, 160),
        shorten(domain(document.url) or document.url, 80),
        safe_link(document.url),
        format_time(document.published_at) if document.published_at else "",
        found.before + found.match + found.after,
    )


def _digits(matrix: Sequence[Sequence[float]]) -> str:
    """Two characters per value, row by row: hundredths, or `1.` for one."""
    return "".join("1." if v >= 0.995 else f"{round(100 * v):02d}" for row in matrix for v in row)


def _fill(
    record: DefencesRecord,
    chosen: Sequence[Key],
    seen: Mapping[Key, Seen],
    rows: Mapping[Key, Mapping[str, Row]],
    outcomes: Mapping[Key, Mapping[str, str]],
) -> tuple[dict[str, Question], Shared]:
    """Questions with as many cases as there is room for, in the order given."""
    conditions = {condition.name: n for n, condition in enumerate(record.conditions)}
    questions: dict[str, Question] = {}
    shared = Shared.empty()
    room = MAX_CHARACTERS
    for key in chosen:
        query_id = key[1]
        question = questions.get(query_id) or Question(0, query_id, seen[key].question)
        known = len(question.documents)
        case = _case(record, question, seen[key], rows[key], outcomes[key], shared)
        case["c"] = conditions.get(key[0], 0)
        new = list(question.documents)[known:]
        room -= len(island(case)) + sum(len(str(document)) for document in new)
        if room < 0 and questions:
            break
        question.cases.append(case)
        questions[query_id] = question
    return questions, shared


def _case(
    record: DefencesRecord,
    question: Question,
    seen: Seen,
    rows: Mapping[str, Row],
    outcomes: Mapping[str, str],
    shared: Shared,
) -> dict[str, Any]:
    labels = next(iter(rows.values())).labels
    planted = labels.poisoned_ranks
    return {
        "s": seen.step,
        "d": seen.date,
        "t": shorten((" and " if labels.all_answers_required else " / ").join(labels.answers), 300),
        "x": shorten(labels.target or "", 300),
        "a": shorten(labels.attack or "", 60),
        "p": list(planted),
        "docs": [
            [question.place(text), rank, said, _tone(said, labels)]
            for text, rank, said in seen.documents
        ],
        "e": seen.entailment,
        "n": seen.contradiction,
        "f": "".join(_letter(outcomes.get(c.name)) for c in record.contenders),
        "v": [
            compact_verdict(rows[contender.name], planted, shared, contender.adaptation)
            if contender.name in rows
            else None
            for contender in record.contenders
        ],
    }


def _tone(said: str | None, labels: Labels) -> str:
    """Whether an atomic answer is right or the attacker's, as a style class."""
    if said is None:
        return ""
    fooled = "fooled" if is_fooled(said, labels.target) else ""
    return "correct" if is_correct(said, labels) else fooled


LETTERS = {
    "correct": "c",
    "both": "b",
    "fooled": "t",
    "stale": "s",
    "other": "o",
    "abstained": "a",
    "unlabelled": "u",
    "error": "e",
}


def _letter(outcome: str | None) -> str:
    return "." if outcome is None else LETTERS[outcome]


def _index(
    record: DefencesRecord,
    conditions: Sequence[str],
    questions: Sequence[Question],
    shared: Shared,
) -> dict[str, Any]:
    return {
        "contenders": [shorten(contender.name, 80) for contender in record.contenders],
        "conditions": [shorten(name, 80) for name in conditions],
        "words": list(shared.words),
        "shapes": list(shared.shapes),
        "steps": max(1, len({case["s"] for question in questions for case in question.cases})),
        "commands": [
            [str(visible(cell_command(record, one, other))) for other in record.conditions]
            for one in record.contenders
        ],
        "questions": [[question.text, shorten(question.query_id, 80)] for question in questions],
        "cases": [
            [question.number, place, case["c"], case["s"], case["d"], int(bool(case["a"])),
             case["f"], case["t"]]
            for question in questions
            for place, case in enumerate(question.cases)
        ],
    }  # fmt: skip


def _question(question: Question) -> dict[str, Any]:
    return {"docs": list(question.documents), "cases": question.cases}
