"""Every question under every condition, small enough to sit in the page and be unfolded there.

A case is one snapshot under one condition with what every contender made of it. Its texts are
written once per question; where a run is too large, the cases that teach most are kept. Keys of the
data are one letter long; `cases.js` reads them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.defences.records import (
    Adaptation,
    Contender,
    DefencesRecord,
    EvidenceRow,
    Row,
)
from radarstream.pipelines.evaluation.scoring import Definition, is_correct, is_fooled
from radarstream.pipelines.pages.cut_graph import cut_graph
from radarstream.pipelines.pages.defences.commands import cell_command
from radarstream.pipelines.pages.island import Shapes, island, tree
from radarstream.pipelines.pages.outcomes import OUTCOMES
from radarstream.pipelines.pages.safe_text import domain, excerpt, safe_link, shorten, visible
from radarstream.pipelines.pages.times import format_time
from radarstream.pipelines.pages.verdict_words import ABSTENTIONS, reason_in_words
from radarstream.schemas.snapshot import Document, Labels
from radarstream.schemas.verdict import MemoryDecision, Reason, Verdict

MAX_CASES = 4_000
MAX_CHARACTERS = 11_000_000  # of all cases together
TEXT_CHARACTERS = 1_000  # of a document
ANSWER_CHARACTERS = 600
STATES = {Reason.NOT_JUDGED: 2, Reason.UNINFORMATIVE: 3}  # others: 1 kept, 0 rejected

Key = tuple[str, str, int]  # condition, query id, step
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cases:
    """`index` lists the chosen cases for the page's filter; `questions` holds one text per
    question with all of its cases.
    """

    index: Markup
    questions: tuple[Markup, ...]
    listed: int
    total: int


@dataclass
class Question:
    """The cases of one question, with the documents they share and their numbers."""

    query_id: str
    text: str
    documents: dict[tuple[Any, ...], int] = field(default_factory=dict)
    cases: list[Values] = field(default_factory=list)


def build_cases(
    record: DefencesRecord,
    rows: Iterable[Row],
    frame: pl.DataFrame,
    definition: Definition,
    evidence: Iterable[EvidenceRow],
) -> Cases:
    """Arrange a run's cases. Of rows about one answer the last counts; those that the table of
    answers does not have are left out.
    """
    columns = ("contender", "condition", "query_id", "step", definition.column("outcome"))
    outcomes = {row[:4]: row[4] for row in frame.select(columns).rows()}
    by_case: defaultdict[Key, dict[str, tuple[Row, str]]] = defaultdict(dict)
    for row in rows:
        if row.key in outcomes:
            by_case[row.key[1:]][row.contender] = row, outcomes[row.key]
    chosen = sorted(by_case, key=lambda key: _dullness(by_case[key]))[:MAX_CASES]
    wanted = set(chosen)
    seen = {one.key: (shorten(one.question, 400), _seen(one))
            for one in evidence if one.key in wanted}  # fmt: skip
    book = _Book(record)
    questions: dict[str, Question] = {}
    room = MAX_CHARACTERS
    for key in chosen:
        if key not in seen:
            continue
        text, case = seen[key]
        question = questions.get(key[1]) or Question(key[1], text)
        known = len(question.documents)
        book.complete(case, key[0], question, by_case[key])
        new = list(question.documents)[known:]
        room -= len(island(case)) + sum(len(str(document)) for document in new)
        if room < 0 and questions:
            break
        question.cases.append(case)
        questions[key[1]] = question
    listed = [questions[name] for name in dict.fromkeys(key[1] for key in by_case)
              if name in questions]  # fmt: skip
    for question in listed:
        question.cases.sort(key=lambda case: (case["s"], case["c"]))
    return Cases(
        index=island(book.index(listed)),
        questions=tuple(island({"docs": list(q.documents), "cases": q.cases}) for q in listed),
        listed=sum(len(question.cases) for question in listed),
        total=len(by_case),
    )


def _dullness(answers: Mapping[str, tuple[Row, str]]) -> int:
    """Low for cases that tell defences apart or show an attack getting through."""
    held = {outcome for _, outcome in answers.values()}
    right = held & {"correct", "both"}
    attacked = any(row.labels.attack for row, _ in answers.values())
    fooled = attacked and bool(held & {"fooled", "both"})
    points = 4 * fooled + 3 * (bool(right) and held != right) + attacked + ("error" in held)
    return -points


def _seen(row: EvidenceRow) -> Values:
    """What a case needs of an evidence row; each document is its text, rank and atomic answer."""
    answers = row.answers or (None,) * len(row.documents)
    return {
        "s": row.step,
        "d": format_time(row.observed_at),
        "docs": [
            (_document(document, answer), document.rank, answer and shorten(answer, 240))
            for document, answer in zip(row.documents, answers, strict=False)
        ],
        "e": _digits(row.entailment),
        "n": _digits(row.contradiction),
    }


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


@dataclass
class _Book:
    """Writes cases; `words` (reasons) and `shapes` (of drawings) are referred to by number."""

    record: DefencesRecord
    words: dict[str, int] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=dict)

    def complete(
        self,
        case: Values,
        condition: str,
        question: Question,
        answers: Mapping[str, tuple[Row, str]],
    ) -> None:
        """Add to what was seen what every contender made of it."""
        conditions = [one.name for one in self.record.conditions]
        labels = next(row.labels for row, _ in answers.values())
        truth = (" and " if labels.all_answers_required else " / ").join(labels.answers)
        numbers = question.documents
        case |= {
            "c": conditions.index(condition),
            "t": shorten(truth, 300),
            "x": shorten(labels.target or "", 300),
            "a": shorten(labels.attack or "", 60),
            "p": list(labels.poisoned_ranks),
            "docs": [
                [numbers.setdefault(text, len(numbers)), rank, said, _tone(said, labels)]
                for text, rank, said in case["docs"]
            ],
            "f": "",
            "v": [],
        }
        for contender in self.record.contenders:
            row, outcome = answers.get(contender.name, (None, None))
            case["f"] += OUTCOMES[outcome].letter if outcome else "."
            case["v"].append(row and self._answer(row, contender))

    def _answer(self, row: Row, contender: Contender) -> Values:
        cost = row.cost
        read, written = cost.prompt_tokens, cost.completion_tokens
        tokens = None if read is None or written is None else read + written
        spent = [cost.calls, tokens, cost.pairs, round(cost.seconds, 2)]
        shown: Values = {"c": spent, "b": row.state_bytes}
        verdict = row.verdict
        if verdict is None:
            return shown | {"x": shorten(row.error or "no verdict", 300)}
        shown["a"] = shorten(verdict.answer, ANSWER_CHARACTERS)
        if verdict.abstention:
            shown["i"] = ABSTENTIONS[verdict.abstention]
        if contender.adaptation is Adaptation.CUMULATIVE:  # its ranks are places in the pool
            selects = any(one.reason is not Reason.NOT_JUDGED for one in verdict.documents)
            shown["pool"] = [len(verdict.documents), len(verdict.kept_ranks) if selects else None]
        else:
            shown |= self._documents(verdict)
        if verdict.energy is not None:
            shown["n"] = round(verdict.energy, 4)
        memory = verdict.memory
        if memory.decision is not MemoryDecision.NONE:
            beliefs = (memory.support_prior, memory.support_posterior,
                       memory.conflict_prior, memory.conflict_posterior)  # fmt: skip
            answer = shorten(memory.previous_answer or "", 200)
            shown["m"] = [memory.decision.value, answer, *map(_rounded, beliefs)]
        name = f"{row.contender}, {row.condition}, step {row.step}"
        drawing = cut_graph(verdict, row.labels.poisoned_ranks, name)
        if drawing is not None:
            shown["g"] = tree(drawing, self.shapes)
        return shown

    def _documents(self, verdict: Verdict) -> Values:
        """State and reason, with the ranks that share them; rank, S, F and margin of documents."""
        ranks: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        figures = []
        for one in verdict.documents:
            why = self.words.setdefault(reason_in_words(one, verdict), len(self.words))
            ranks[STATES.get(one.reason, int(one.kept)), why].append(one.rank)
            evidence = [_rounded(v) for v in (one.keep_evidence, one.reject_evidence, one.margin)]
            if evidence != [None, None, None]:
                figures.append([one.rank, *evidence])
        return {"d": [[*shared, held] for shared, held in ranks.items()], "s": figures}

    def index(self, questions: Sequence[Question]) -> Values:
        """What the page's filter needs of all cases."""
        record = self.record
        return {
            "contenders": [shorten(contender.name, 80) for contender in record.contenders],
            "conditions": [shorten(condition.name, 80) for condition in record.conditions],
            "words": list(self.words),
            "shapes": list(self.shapes),
            "steps": max(1, len({case["s"] for one in questions for case in one.cases})),
            "commands": [
                [str(visible(cell_command(record, one, other))) for other in record.conditions]
                for one in record.contenders
            ],
            "questions": [[one.text, shorten(one.query_id, 80)] for one in questions],
            "cases": [
                [number, place, case["c"], case["s"], case["d"], int(bool(case["a"])), case["f"],
                 case["t"]]
                for number, one in enumerate(questions)
                for place, case in enumerate(one.cases)
            ],
        }  # fmt: skip


def _tone(said: str | None, labels: Labels) -> str:
    """Whether an atomic answer is right or the attacker's, as a style class."""
    if said is None:
        return ""
    fooled = "fooled" if is_fooled(said, labels.target) else ""
    return "correct" if is_correct(said, labels) else fooled


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
