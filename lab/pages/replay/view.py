"""What the page shows, computed from events, snapshots and the run record; no markup here."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from radarstream.lab.defences.answers import replay_frame
from radarstream.lab.defences.planted import Point, replay_curves
from radarstream.lab.defences.records import Row
from radarstream.lab.pages.replay.steps import FOOLED, Highlight, QueryView, ScoredStep, score_step
from radarstream.lab.study.scoring import Outcome
from radarstream.pipelines.job.replaying.record import RunRecord
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import MemoryDecision

MAX_DETAILED_QUERIES = 300
MAX_DETAILED_DOCUMENTS = 6_000  # about two kilobytes of page each
MAX_OVERVIEW_QUERIES = 1_000
MAX_LISTED = 5  # findings of one kind before the rest is folded away
MAX_UNFOLDED = 200
DEFEATING = (Outcome.CORRECT, Outcome.ABSTAINED)  # answers that show that an attack failed
MAX_DATES = 24  # columns of the table of every question, before they count steps instead

THROUGH = "Attacks that got through"
LINGERING = "Wrong answers that stayed"
STOPPED = "Attacks stopped"
CHANGED = "Answer changed or memory falsified"
HELD = "Memory held under attack"
FINDING_KINDS = {  # title: what it means, style class
    THROUGH: ("the answer names the planted falsehood", "bad"),
    LINGERING: ("a falsehood planted earlier is still the answer", "bad"),
    STOPPED: ("another answer is fooled; the defended one is correct or abstains", "good"),
    CHANGED: ("the answer differs from the one before, or the one before was given up", "plain"),
    HELD: ("the previous answer, not known to be wrong, was retained", "plain"),
}


@dataclass(frozen=True, slots=True)
class ReportView:
    """The whole page. `columns` have the steps of a date (or of a step's number) by query, `curves`
    what became of answers by the number of planted sites, `findings` the steps of each kind.
    """

    queries: tuple[QueryView, ...]
    columns: Mapping[str, Mapping[int, ScoredStep]]
    curves: Mapping[str, Sequence[Point]]
    findings: Mapping[str, Sequence[Highlight]]
    run: RunRecord

    @property
    def steps(self) -> tuple[ScoredStep, ...]:
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
    answers: Sequence[AnswerEvent],
    snapshots: Mapping[str, SearchSnapshot],
    run: RunRecord,
    read: Mapping[str, SearchSnapshot] | None = None,
    baselines: Sequence[Row] = (),
) -> ReportView:
    """Arrange a run for a reader: queries in order of appearance, their steps in order of step."""
    by_query: dict[str, list[AnswerEvent]] = defaultdict(list)
    for event in answers:
        by_query[event.query_id].append(event)
    ordered = [sorted(events, key=lambda event: event.step) for events in by_query.values()]
    frame = replay_frame([event for events in ordered for event in events], snapshots, baselines)
    scored: dict[tuple[str, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in frame.rows(named=True):
        scored[row["query_id"], row["step"]][row["contender"]] = row
    queries = _detailed(
        [
            QueryView(number, tuple(_steps(number, events, snapshots, read or {}, scored)))
            for number, events in enumerate(ordered, start=1)
        ]
    )
    return ReportView(queries, _columns(queries), replay_curves(frame), _findings(queries),
                      run)  # fmt: skip


def _steps(
    number: int,
    events: Sequence[AnswerEvent],
    snapshots: Mapping[str, SearchSnapshot],
    read: Mapping[str, SearchSnapshot],
    scored: Mapping[tuple[str, int], dict[str, dict[str, Any]]],
) -> Iterator[ScoredStep]:
    targets: list[str] = []
    for event in events:
        found = (snapshots.get(event.snapshot_id), read.get(event.snapshot_id))
        rows = scored[event.query_id, event.step]
        step = score_step(event, *found, f"q{number}-s{event.step}", tuple(targets), rows)
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


def _columns(queries: Sequence[QueryView]) -> dict[str, dict[int, ScoredStep]]:
    """One column for each day; where there are too many days, one for each step. A query that was
    observed twice on a day gets columns for each time instead.
    """
    steps = [(query.number, step) for query in queries for step in query.steps]
    for length in (len("2000-01-01"), None):
        cells: dict[str, dict[int, ScoredStep]] = defaultdict(dict)
        for number, step in steps:
            cells[step.date[:length]][number] = step
        if len(cells) <= MAX_DATES and sum(map(len, cells.values())) == len(steps):
            return dict(sorted(cells.items()))
    counted: dict[int, dict[int, ScoredStep]] = defaultdict(dict)
    for number, step in steps:
        counted[step.event.step][number] = step
    return {str(step + 1): held for step, held in sorted(counted.items())}


def _findings(queries: Sequence[QueryView]) -> dict[str, list[Highlight]]:
    found: dict[str, list[Highlight]] = {kind: [] for kind in FINDING_KINDS}
    for query in queries:
        before: ScoredStep | None = None
        for step in query.steps:
            for kind in _kinds(step):
                shown = before.answer if before and kind == CHANGED else None
                found[kind].append(Highlight(query, step, shown))
            before = step
    return {kind: held for kind, held in found.items() if held}


def _kinds(step: ScoredStep) -> Iterator[str]:
    stopped = step.misled and step.outcome in DEFEATING
    if step.labels.attack and step.labels.target and step.fooled_now:
        yield THROUGH
    elif step.labels.attack and stopped:
        yield STOPPED
    elif step.outcome in FOOLED:
        yield LINGERING
    if step.event.changed or step.event.falsified:
        yield CHANGED
    held = step.outcome in (Outcome.CORRECT, Outcome.UNLABELLED)
    if step.memory.decision is MemoryDecision.RETAINED and step.labels.attack and held:
        yield HELD
