"""Every question under every condition, small enough to sit in the page and be unfolded there.

A case is one snapshot under one condition with what every contender made of it. Its texts are
written once per question; where a run is too large, the cases that teach most are kept.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.evaluation.experiment.records import (
    Adaptation,
    EvidenceRow,
    ExperimentRecord,
    Row,
)
from pipelines.evaluation.experiment_report.commands import cell_command
from pipelines.evaluation.experiment_report.island import Shapes, island, tree
from pipelines.evaluation.experiment_report.outcomes import Fate
from pipelines.evaluation.metrics import Response
from pipelines.evaluation.report.graph_svg import draw_cut
from pipelines.evaluation.report.safe_text import (
    domain,
    excerpt,
    safe_link,
    shorten,
    visible,
)
from pipelines.evaluation.report.step_view import ABSTENTIONS, format_time, reason_in_words
from schemas.snapshot import Document, Labels
from schemas.verdict import MemoryDecision, Reason, Verdict

MAX_CASES = 4_000
MAX_CHARACTERS = 11_000_000  # of all cases together
TEXT_CHARACTERS = 1_000  # of a document
ANSWER_CHARACTERS = 600

STATES = {Reason.NOT_JUDGED: 2, Reason.UNINFORMATIVE: 3}  # others: 1 kept, 0 rejected

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
class Shared:
    """What all cases refer to by number: reasons in words, shapes of drawings."""

    words: defaultdict[str, int]
    shapes: Shapes

    @staticmethod
    def empty() -> "Shared":
        """Nothing yet."""
        words: defaultdict[str, int] = defaultdict(lambda: len(words))
        return Shared(words, {})


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
    record: ExperimentRecord,
    rows: Mapping[Key, Mapping[str, Row]],
    fates: Mapping[Key, Mapping[str, Fate]],
    evidence: Iterable[EvidenceRow],
) -> Cases:
    """Arrange a run's cases. `rows` and `fates` are by case, then by contender."""
    chosen = sorted(rows, key=lambda key: _dullness(rows[key], fates[key]))[:MAX_CASES]
    wanted = set(chosen)
    seen: dict[Key, Seen] = {}
    for row in evidence:
        key = (row.condition, row.query_id, row.step)
        if key in wanted:
            seen[key] = _seen(row)
    questions, shared = _fill(record, [key for key in chosen if key in seen], seen, rows, fates)
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


def _dullness(rows: Mapping[str, Row], fates: Mapping[str, Fate]) -> int:
    """Low for cases that tell defences apart or show an attack getting through."""
    held = set(fates.values())
    right = held & {Fate.CORRECT, Fate.BOTH}
    attacked = any(row.labels.attack for row in rows.values())
    fooled = attacked and bool(held & {Fate.TARGET, Fate.BOTH})
    points = 4 * fooled + 3 * (bool(right) and held != right) + attacked + (Fate.ERROR in held)
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
    record: ExperimentRecord,
    chosen: Sequence[Key],
    seen: Mapping[Key, Seen],
    rows: Mapping[Key, Mapping[str, Row]],
    fates: Mapping[Key, Mapping[str, Fate]],
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
        case = _case(record, question, seen[key], rows[key], fates[key], shared)
        case["c"] = conditions.get(key[0], 0)
        new = list(question.documents)[known:]
        room -= len(island(case)) + sum(len(str(document)) for document in new)
        if room < 0 and questions:
            break
        question.cases.append(case)
        questions[query_id] = question
    return questions, shared


def _case(
    record: ExperimentRecord,
    question: Question,
    seen: Seen,
    rows: Mapping[str, Row],
    fates: Mapping[str, Fate],
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
        "f": "".join(_letter(fates.get(c.name)) for c in record.contenders),
        "v": [
            _verdict(rows[contender.name], planted, shared, contender.adaptation)
            if contender.name in rows
            else None
            for contender in record.contenders
        ],
    }


def _tone(said: str | None, labels: Labels) -> str:
    """Whether an atomic answer is right or the attacker's, as a style class."""
    if said is None:
        return ""
    response = Response(said, labels)
    return "correct" if response.correct() else "target" if response.attacked() else ""


LETTERS = dict(zip(Fate, "cbtsoaue", strict=True))


def _letter(fate: Fate | None) -> str:
    return "." if fate is None else LETTERS[fate]


def _verdict(
    row: Row, planted: Sequence[int], shared: Shared, adaptation: Adaptation
) -> dict[str, Any]:
    cost = row.cost
    spent = [cost.calls, cost.prompt_tokens + cost.completion_tokens, cost.pairs]
    shown: dict[str, Any] = {"c": [*spent, round(cost.seconds, 2)], "b": row.state_bytes}
    verdict = row.verdict
    if verdict is None:
        return shown | {"x": shorten(row.error or "no verdict", 300)}
    drawing = draw_cut(verdict, planted, f"{row.contender}, {row.condition}, step {row.step}")
    shown["a"] = shorten(verdict.answer, ANSWER_CHARACTERS)
    if verdict.abstention:
        shown["i"] = ABSTENTIONS[verdict.abstention]
    if adaptation is Adaptation.CUMULATIVE:  # its ranks are places in the pool
        selects = any(document.reason is not Reason.NOT_JUDGED for document in verdict.documents)
        shown["pool"] = [len(verdict.documents), len(verdict.kept_ranks) if selects else None]
    else:
        shown["d"] = _documents(verdict, shared.words)
        shown["s"] = list(_evidence(verdict))
    if verdict.energy is not None:
        shown["n"] = round(verdict.energy, 4)
    if verdict.memory.decision is not MemoryDecision.NONE:
        shown["m"] = _memory(verdict)
    if drawing is not None:
        shown["g"] = tree(drawing, shared.shapes)
    return shown


def _documents(verdict: Verdict, words: dict[str, int]) -> list[list[Any]]:
    """State and reason, with the ranks that share them."""
    ranks: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for document in verdict.documents:
        state = STATES.get(document.reason, int(document.kept))
        ranks[state, words[reason_in_words(document, verdict)]].append(document.rank)
    return [[state, reason, held] for (state, reason), held in ranks.items()]


def _evidence(verdict: Verdict) -> Iterator[list[float | None]]:
    """Rank, S, F and margin of the documents that have them."""
    for document in verdict.documents:
        evidence = (document.keep_evidence, document.reject_evidence, document.margin)
        if evidence != (None, None, None):
            yield [document.rank, *map(_rounded, evidence)]


def _memory(verdict: Verdict) -> list[Any]:
    memory = verdict.memory
    beliefs = (memory.support_prior, memory.support_posterior,
               memory.conflict_prior, memory.conflict_posterior)  # fmt: skip
    answer = shorten(memory.previous_answer or "", 200)
    return [memory.decision.value, answer, *(_rounded(value) for value in beliefs)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _index(
    record: ExperimentRecord,
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
