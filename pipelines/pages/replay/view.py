"""What the page shows, computed from events, snapshots and the run record; no markup here."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from radarstream.pipelines.evaluation.frame import DEFENDED, UNDEFENDED, replay_frame
from radarstream.pipelines.evaluation.rates import Rate, Scores, scores_of
from radarstream.pipelines.evaluation.run_record import RunRecord
from radarstream.pipelines.pages.replay.steps import (
    FOOLED,
    Highlight,
    QueryView,
    SourceRow,
    StepView,
    build_step,
    sources_of,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import MemoryDecision

MAX_DETAILED_QUERIES = 300
MAX_DETAILED_DOCUMENTS = 6_000  # about two kilobytes of page each
MAX_OVERVIEW_QUERIES = 1_000
MAX_LISTED = 5  # findings of one kind before the rest is folded away
MAX_UNFOLDED = 200
MAX_DATES = 24  # columns of the table of every question, before they count steps instead

THROUGH = "Attacks that got through"
LINGERING = "Wrong answers that stayed"
STOPPED = "Attacks stopped"
CHANGED = "Answer changed or memory falsified"
HELD = "Memory held under attack"
FINDING_KINDS = {  # title: what it means, style class
    THROUGH: ("the answer names the planted falsehood", "bad"),
    LINGERING: ("a falsehood planted earlier is still the answer", "bad"),
    STOPPED: ("undefended they succeed; the defended answer is correct or abstains", "good"),
    CHANGED: ("the answer differs from the one before, or the one before was given up", "plain"),
    HELD: ("the previous answer was retained", "plain"),
}


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one kind; `tone` is a style class."""

    title: str
    explanation: str
    tone: str
    findings: tuple[Highlight, ...]


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """Scores of one kind of answers, defended or not, over all, benign and attacked steps."""

    name: str
    overall: Scores
    benign: Scores
    attacked: Scores

    @property
    def rates(self) -> tuple[tuple[str, str, Rate], ...]:
        """What the page compares: name, tone and rate."""
        return (
            ("correct, all answers", "good", self.overall.correct),
            ("correct, no attack", "good", self.benign.correct),
            ("correct, under attack", "good", self.attacked.correct),
            ("attacks that succeed", "bad", self.attacked.fooled),
        )


@dataclass(frozen=True, slots=True)
class Column:
    """One date, or one step, of the table of every question: steps by the query's number."""

    title: str
    steps: Mapping[int, StepView]


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole page."""

    queries: tuple[QueryView, ...]
    columns: tuple[Column, ...]
    scores: tuple[ScoreRow, ...]
    groups: tuple[FindingGroup, ...]
    sources: tuple[SourceRow, ...]
    run: RunRecord

    @property
    def steps(self) -> tuple[StepView, ...]:
        """The steps of all queries."""
        return tuple(step for query in self.queries for step in query.steps)

    @property
    def detailed(self) -> tuple[QueryView, ...]:
        """Queries with a section of their own."""
        return tuple(query for query in self.queries if query.detailed)

    @property
    def overview(self) -> tuple[QueryView, ...]:
        """Queries in the table of every question and step: the first ones and the detailed."""
        return tuple(q for q in self.queries if q.number <= MAX_OVERVIEW_QUERIES or q.detailed)


def build_view(
    answers: Sequence[AnswerEvent], snapshots: Mapping[str, SearchSnapshot], run: RunRecord
) -> ReportView:
    """Arrange a run for reading: queries in order of appearance, their steps in order of step."""
    by_query: dict[str, list[AnswerEvent]] = defaultdict(list)
    for event in answers:
        by_query[event.query_id].append(event)
    ordered = [sorted(events, key=lambda event: event.step) for events in by_query.values()]
    frame = replay_frame([event for events in ordered for event in events], snapshots)
    scored: dict[tuple[str, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in frame.rows(named=True):
        scored[row["query_id"], row["step"]][row["contender"]] = row
    queries = _detailed(
        [
            QueryView(number, tuple(_steps(number, events, snapshots, scored)))
            for number, events in enumerate(ordered, start=1)
        ]
    )
    return ReportView(queries, _columns(queries), _scores(frame), tuple(_finding_groups(queries)),
                      sources_of(queries), run)  # fmt: skip


def _steps(
    number: int,
    events: Sequence[AnswerEvent],
    snapshots: Mapping[str, SearchSnapshot],
    scored: Mapping[tuple[str, int], dict[str, dict[str, Any]]],
) -> Iterator[StepView]:
    targets: list[str] = []
    for event in events:
        snapshot = snapshots.get(event.snapshot_id)
        rows = scored[event.query_id, event.step]
        step = build_step(event, snapshot, f"q{number}-s{event.step}", tuple(targets), rows)
        if step.labels.attack and step.labels.target:
            targets.append(step.labels.target)
        yield step


def _detailed(queries: Sequence[QueryView]) -> tuple[QueryView, ...]:
    """All queries; those get a section that fit, the ones that were fooled most first."""
    ranked = sorted(
        queries, key=lambda query: (len(query.fooled), len(query.changed)), reverse=True
    )
    chosen: set[int] = set()
    room = MAX_DETAILED_DOCUMENTS
    for query in ranked[:MAX_DETAILED_QUERIES]:
        room -= sum(len(step.documents) for step in query.steps)
        if room < 0 and chosen:
            break
        chosen.add(query.number)
    return tuple(replace(query, detailed=query.number in chosen) for query in queries)


def _columns(queries: Sequence[QueryView]) -> tuple[Column, ...]:
    """One column for each day; where there are too many days, one for each step.

    A query that was observed twice on a day gets columns for each time instead.
    """
    steps = [(query.number, step) for query in queries for step in query.steps]
    for length in (len("2000-01-01"), None):
        cells: dict[str, dict[int, StepView]] = defaultdict(dict)
        for number, step in steps:
            cells[step.date[:length]][number] = step
        if len(cells) <= MAX_DATES and sum(map(len, cells.values())) == len(steps):
            return tuple(Column(date, held) for date, held in sorted(cells.items()))
    counted: dict[int, dict[int, StepView]] = defaultdict(dict)
    for number, step in steps:
        counted[step.event.step][number] = step
    return tuple(Column(str(step + 1), held) for step, held in sorted(counted.items()))


def _scores(frame: pl.DataFrame) -> tuple[ScoreRow, ...]:
    attacked = pl.col("attack").is_not_null()
    labelled = (pl.col("truth").list.len() > 0) | pl.col("target").is_not_null()
    if frame.filter(labelled).is_empty():
        return ()
    rows = []
    for contender in (DEFENDED, UNDEFENDED):
        answers = frame.filter(pl.col("contender") == contender)
        if len(answers):
            kinds = (answers, answers.filter(~attacked), answers.filter(attacked))
            rows.append(ScoreRow(contender.capitalize(), *map(scores_of, kinds)))
    return tuple(rows)


def _finding_groups(queries: Sequence[QueryView]) -> Iterator[FindingGroup]:
    kinds: dict[str, list[Highlight]] = {kind: [] for kind in FINDING_KINDS}
    for query in queries:
        before: StepView | None = None
        for step in query.steps:
            for kind in _kinds(step):
                shown = before.answer if before and kind == CHANGED else None
                kinds[kind].append(Highlight(query, step, shown))
            before = step
    for title, found in kinds.items():
        if found:
            yield FindingGroup(title, *FINDING_KINDS[title], tuple(found))


def _kinds(step: StepView) -> Iterator[str]:
    falsified = step.memory.decision is MemoryDecision.FALSIFIED
    if step.labels.attack and step.labels.target and step.fooled_now:
        yield THROUGH
    elif step.labels.attack and step.stopped:
        yield STOPPED
    elif step.outcome in FOOLED:
        yield LINGERING
    if step.event.changed or falsified:
        yield CHANGED
    if step.memory.decision is MemoryDecision.RETAINED and step.labels.attack:
        yield HELD
