"""What the page shows, computed from the scoreboard and the rows; no markup of its own here."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.ranking import (
    Ranking,
    covered_cells,
    rank,
)
from radarstream.pipelines.evaluation.defences.records import (
    Contender,
    DefencesRecord,
    EvidenceRow,
    Row,
)
from radarstream.pipelines.evaluation.defences.scoreboard import (
    MeanCost,
    Scoreboard,
    Summary,
    fewer,
    mean_cost,
)
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.pages.defences.cases import Cases, Key, build_cases
from radarstream.pipelines.pages.defences.groups import groups_of, series_of
from radarstream.pipelines.pages.defences.headline import Headline, headline
from radarstream.pipelines.pages.defences.over_time import OverTime, over_time
from radarstream.pipelines.pages.defences.plots import cost_plots, cost_stages, opening, trade_offs
from radarstream.pipelines.pages.defences.sensitivity import sweep_plots, sweeps
from radarstream.pipelines.pages.scales import Series

Best = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class BoardCell:
    """A cell of the main table; best among its condition's, or with `fewer` answers than others.

    A cell with less than `LEAST_SCORED` of the answers of another is best of nothing.
    """

    cell: Summary
    best_accuracy: bool
    best_attack: bool
    fewer: bool


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A contender's row of the main table."""

    number: int
    series: Series
    contender: Contender
    cells: tuple[BoardCell, ...]
    cost: MeanCost
    errors: int


@dataclass(frozen=True, slots=True)
class DefencesView:
    """The whole page."""

    record: DefencesRecord
    scoreboard: Scoreboard
    headline: Headline
    ranking: Ranking
    board: tuple[BoardRow, ...]
    attack_conditions: tuple[bool, ...]
    uncovered: tuple[str, ...]
    opening: tuple[Markup, ...]
    trade_offs: tuple[Markup, ...]
    cost_stages: Markup | None
    cost_plots: tuple[Markup, ...]
    over_time: tuple[OverTime, ...]
    sensitivity: tuple[Markup, ...]
    cases: Cases
    answers: int
    errors: int


def build_view(
    record: DefencesRecord,
    rows: Sequence[Row],
    evidence: Iterable[EvidenceRow],
    scoreboard: Scoreboard,
    frame: pl.DataFrame,
) -> DefencesView:
    """Arrange a run for reading. Of rows about one answer the last counts; `evidence` is read once
    and not kept. `frame` is the table of answers, `scoreboard` what was computed from it.
    """
    rows = _last_rows(rows, record)
    ranking = rank(frame, record, scoreboard)
    series = series_of(record)
    groups = groups_of(record, series)
    board = tuple(_board(record, scoreboard, series))
    costs = [(row.series, row.cost) for row in board if row.cost.answers]
    return DefencesView(
        record=record,
        scoreboard=scoreboard,
        headline=headline(record, scoreboard, ranking),
        ranking=ranking,
        board=board,
        attack_conditions=tuple(c.attack != BENIGN for c in record.conditions),
        uncovered=tuple(one.contender for one in ranking.contenders if not one.covered),
        opening=opening(ranking),
        trade_offs=tuple(trade_offs(record, scoreboard, ranking, groups)),
        cost_stages=cost_stages(costs),
        cost_plots=tuple(cost_plots(costs, ranking, groups)),
        over_time=tuple(over_time(scoreboard, series, groups, frame)),
        sensitivity=tuple(
            plot for sweep in sweeps(record.contenders) for plot in sweep_plots(sweep, scoreboard)
        ),
        cases=_cases(record, rows, frame, scoreboard.definition, evidence),
        answers=sum(cell.answers for cell in scoreboard.cells),
        errors=sum(cell.errors for cell in scoreboard.cells),
    )


def _last_rows(rows: Sequence[Row], record: DefencesRecord) -> list[Row]:
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
    record: DefencesRecord,
    scoreboard: Scoreboard,
    series: Sequence[Series],
) -> Iterable[BoardRow]:
    most = {name: _best(scoreboard, name) for name in scoreboard.conditions}
    for number, (contender, one) in enumerate(zip(record.contenders, series, strict=True), start=1):
        cells = [scoreboard.cell(contender.name, name) for name in scoreboard.conditions]
        yield BoardRow(
            number=number,
            series=one,
            contender=contender,
            cells=tuple(_board_cell(cell, most[cell.condition], scoreboard) for cell in cells),
            cost=mean_cost(cell.cost for cell in cells),
            errors=sum(cell.errors for cell in cells),
        )


def _board_cell(cell: Summary, best: Best, scoreboard: Scoreboard) -> BoardCell:
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


def _cases(
    record: DefencesRecord,
    rows: Iterable[Row],
    frame: pl.DataFrame,
    definition: Definition,
    evidence: Iterable[EvidenceRow],
) -> Cases:
    by_case: defaultdict[Key, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        by_case[row.condition, row.query_id, row.step][row.contender] = row
    outcomes: defaultdict[Key, dict[str, str]] = defaultdict(dict)
    columns = ("condition", "query_id", "step", "contender", definition.column("outcome"))
    for *case, contender, outcome in frame.select(columns).rows():
        condition, query_id, step = case
        outcomes[condition, query_id, step][contender] = outcome
    return build_cases(record, by_case, outcomes, evidence)
