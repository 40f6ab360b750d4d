"""What the page shows, computed from the scoreboard and the rows; no markup of its own here."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.experiment.records import (
    BENIGN,
    Contender,
    EvidenceRow,
    ExperimentRecord,
    Row,
)
from radarstream.pipelines.evaluation.experiment.scoreboard import (
    Cell,
    MeanCost,
    Scoreboard,
    mean_cost,
)
from radarstream.pipelines.evaluation.experiment.table_layout import fewer
from radarstream.pipelines.evaluation.experiment_report.cases import Cases, Key, build_cases
from radarstream.pipelines.evaluation.experiment_report.groups import Group, groups_of, series_of
from radarstream.pipelines.evaluation.experiment_report.headline import Headline, headline
from radarstream.pipelines.evaluation.experiment_report.outcomes import Fate, fates_of
from radarstream.pipelines.evaluation.experiment_report.over_time import OverTime, over_time
from radarstream.pipelines.evaluation.experiment_report.panel_svg import Series
from radarstream.pipelines.evaluation.experiment_report.pooled import (
    Pooled,
    Ranking,
    covered_cells,
    rank,
)
from radarstream.pipelines.evaluation.experiment_report.scatter_svg import (
    Priced,
    TradeOff,
    accuracy_by_cost,
    trade_off,
    window_of,
)
from radarstream.pipelines.evaluation.experiment_report.sensitivity import sweep_plots, sweeps
from radarstream.pipelines.evaluation.experiment_report.stacks_svg import Spent, stages

Best = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class BoardCell:
    """A cell of the main table; best among its condition's, or with `fewer` answers than others.

    A cell with less than `LEAST_SCORED` of the answers of another is best of nothing.
    """

    cell: Cell
    best_accuracy: bool
    best_attack: bool
    fewer: bool


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A contender's row of the main table, with all attacked conditions together at the end."""

    number: int
    series: Series
    contender: Contender
    cells: tuple[BoardCell, ...]
    pooled: Pooled
    cost: MeanCost
    storage: float | None
    errors: int


@dataclass(frozen=True, slots=True)
class ExperimentView:
    """The whole page."""

    record: ExperimentRecord
    scoreboard: Scoreboard
    headline: Headline
    ranking: Ranking
    board: tuple[BoardRow, ...]
    attack_conditions: tuple[bool, ...]
    uncovered: tuple[str, ...]
    trade_offs: tuple[Markup, ...]
    cost_stages: Markup | None
    cost_plots: tuple[Markup, ...]
    over_time: tuple[OverTime, ...]
    sensitivity: tuple[Markup, ...]
    cases: Cases
    answers: int
    errors: int


def build_view(
    record: ExperimentRecord,
    rows: Sequence[Row],
    evidence: Iterable[EvidenceRow],
    scoreboard: Scoreboard,
    frame: pl.DataFrame,
) -> ExperimentView:
    """Arrange a run for reading. Of rows about one answer the last counts; `evidence` is read once
    and not kept. `frame` is the table of answers, `scoreboard` what was computed from it.
    """
    rows = _last_rows(rows, record)
    ranking = rank(frame, record, scoreboard)
    series = series_of(record)
    groups = groups_of(record, series)
    fates = fates_of(frame, scoreboard.definition)
    board = tuple(_board(record, scoreboard, ranking, series))
    return ExperimentView(
        record=record,
        scoreboard=scoreboard,
        headline=headline(record, scoreboard, ranking),
        ranking=ranking,
        board=board,
        attack_conditions=tuple(c.attack != BENIGN for c in record.conditions),
        uncovered=tuple(one.contender for one in ranking.contenders if not one.covered),
        trade_offs=tuple(_trade_offs(record, scoreboard, ranking, groups)),
        cost_stages=_cost_stages(board),
        cost_plots=tuple(_cost_plots(board, groups)),
        over_time=tuple(over_time(scoreboard, series, groups, rows, fates)),
        sensitivity=tuple(
            plot for sweep in sweeps(record.contenders) for plot in sweep_plots(sweep, scoreboard)
        ),
        cases=_cases(record, rows, fates, evidence),
        answers=sum(cell.answers for cell in scoreboard.cells),
        errors=sum(cell.errors for cell in scoreboard.cells),
    )


def _last_rows(rows: Sequence[Row], record: ExperimentRecord) -> list[Row]:
    """Rows of the record's contenders and conditions; of rows about one answer the last."""
    contenders = {contender.name for contender in record.contenders}
    conditions = {condition.name for condition in record.conditions}
    last = {
        (row.contender, row.condition, row.query_id, row.step): row
        for row in rows
        if row.contender in contenders and row.condition in conditions
    }
    return list(last.values())


def _board(
    record: ExperimentRecord,
    scoreboard: Scoreboard,
    ranking: Ranking,
    series: Sequence[Series],
) -> Iterable[BoardRow]:
    most = {name: _best(scoreboard, name) for name in scoreboard.conditions}
    for number, (contender, one) in enumerate(zip(record.contenders, series, strict=True), start=1):
        cells = [scoreboard.cell(contender.name, name) for name in scoreboard.conditions]
        kept = [cell.storage.mean for cell in cells if cell.storage.mean is not None]
        yield BoardRow(
            number=number,
            series=one,
            contender=contender,
            cells=tuple(_board_cell(cell, most[cell.condition], scoreboard) for cell in cells),
            pooled=ranking.of(contender.name),
            cost=mean_cost(cell.cost for cell in cells),
            storage=sum(kept) / len(kept) if kept else None,
            errors=sum(cell.errors for cell in cells),
        )


def _board_cell(cell: Cell, best: Best, scoreboard: Scoreboard) -> BoardCell:
    covered = bool(cell.answers) and cell in covered_cells(scoreboard, cell.condition)
    accuracy, attack = cell.accuracy.value, cell.attack_success.value
    return BoardCell(
        cell,
        best_accuracy=covered and accuracy is not None and accuracy == best[0],
        best_attack=covered and attack is not None and attack == best[1],
        fewer=bool(cell.answers) and fewer(scoreboard, cell),
    )


def _best(scoreboard: Scoreboard, condition: str) -> Best:
    """Highest accuracy and lowest attack success of a condition; None where all are equal."""
    cells = covered_cells(scoreboard, condition)
    right = [c.accuracy.value for c in cells if c.accuracy.value is not None]
    fooled = [c.attack_success.value for c in cells if c.attack_success.value is not None]
    return (
        max(right) if len(set(right)) > 1 else None,
        min(fooled) if len(set(fooled)) > 1 else None,
    )


def _trade_offs(
    record: ExperimentRecord,
    scoreboard: Scoreboard,
    ranking: Ranking,
    groups: Sequence[Group],
) -> Iterable[Markup]:
    """All attacked conditions together first, then each of them, on the same axes."""
    panels: list[tuple[str, list[TradeOff]]] = []
    attacked = [c.name for c in record.conditions if c.attack != BENIGN]
    if len(attacked) > 1:
        for group in groups:
            covered = [one for one in group.series if ranking.of(one.name).covered]
            points = [_pooled_point(one, ranking) for one in covered]
            panels.append((group.heading("all attacks"), points))
    for name in attacked:
        for group in groups:
            cells = [(one, scoreboard.cell(one.name, name)) for one in group.series]
            points = [TradeOff(one, c.accuracy, c.attack_success) for one, c in cells]
            panels.append((group.heading(name), points))
    panels = [(name, [p for p in points if _measured(p)]) for name, points in panels]
    window = window_of([point for _, points in panels for point in points])
    for name, points in panels:
        if points:
            yield trade_off(name, points, window)


def _pooled_point(series: Series, ranking: Ranking) -> TradeOff:
    pooled = ranking.of(series.name)
    return TradeOff(series, pooled.accuracy, pooled.attack_success)


def _measured(point: TradeOff) -> bool:
    return point.accuracy.value is not None and point.attack_success.value is not None


def _cost_stages(board: Sequence[BoardRow]) -> Markup | None:
    spent = [
        Spent(
            row.series,
            (
                row.cost.atomic_seconds,
                row.cost.relation_seconds,
                row.cost.selection_seconds,
                row.cost.generation_seconds,
            ),
        )
        for row in board
        if row.cost.answers
    ]
    return stages("Seconds of an answer by stage", spent) if spent else None


def _cost_plots(board: Sequence[BoardRow], groups: Sequence[Group]) -> Iterable[Markup]:
    rows = [row for row in board if row.pooled.covered and row.cost.answers]
    for unit, price in (("model calls an answer", "calls"), ("seconds an answer", "seconds")):
        for group in groups:
            shown = {one.name: one for one in group.series}
            points = [
                Priced(shown[row.contender.name], row.pooled.accuracy, getattr(row.cost, price))
                for row in rows
                if row.contender.name in shown
            ]
            if points:
                yield accuracy_by_cost(group.heading(f"Accuracy by {unit}"), points, unit)


def _cases(
    record: ExperimentRecord,
    rows: Iterable[Row],
    fates: Mapping[tuple[str, str, str, int], Fate],
    evidence: Iterable[EvidenceRow],
) -> Cases:
    by_case: defaultdict[Key, dict[str, Row]] = defaultdict(dict)
    outcomes: defaultdict[Key, dict[str, Fate]] = defaultdict(dict)
    for row in rows:
        key = (row.condition, row.query_id, row.step)
        by_case[key][row.contender] = row
        outcomes[key][row.contender] = fates[row.contender, row.condition, row.query_id, row.step]
    return build_cases(record, by_case, outcomes, evidence)
