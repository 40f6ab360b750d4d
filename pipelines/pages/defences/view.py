"""What the page shows, computed from the scoreboard and the rows; no markup of its own here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.defences.ranking import Ranking, covered_cells, rank
from radarstream.pipelines.evaluation.defences.records import DefencesRecord, EvidenceRow, Row
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard, mean_cost
from radarstream.pipelines.pages.defences.cases import Cases, build_cases
from radarstream.pipelines.pages.defences.headline import Headline, headline
from radarstream.pipelines.pages.defences.over_time import OverTime, over_time
from radarstream.pipelines.pages.defences.plots import (
    cost_plots,
    cost_stages,
    groups_of,
    opening,
    series_of,
    trade_offs,
)
from radarstream.pipelines.pages.defences.sensitivity import sweep_plots, sweeps
from radarstream.pipelines.pages.scales import Series


@dataclass(frozen=True, slots=True)
class DefencesView:
    """The whole page. `series` are the record's contenders as plots show them, `stars` contender,
    condition and quantity of the best rates.
    """

    record: DefencesRecord
    scoreboard: Scoreboard
    headline: Headline
    ranking: Ranking
    series: tuple[Series, ...]
    stars: frozenset[tuple[str, str, str]]
    opening: tuple[Markup, ...]
    trade_offs: tuple[Markup, ...]
    cost_stages: Markup | None
    cost_plots: tuple[Markup, ...]
    over_time: tuple[OverTime, ...]
    sensitivity: tuple[Markup, ...]
    cases: Cases


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
    ranking = rank(frame, record, scoreboard)
    series = series_of(record)
    groups = groups_of(record, series)
    spent = ((one, mean_cost(cell.cost for cell in scoreboard.of(one.name)))
             for one in series)  # fmt: skip
    costs = [(one, cost) for one, cost in spent if cost.answers]
    return DefencesView(
        record=record,
        scoreboard=scoreboard,
        headline=headline(record, scoreboard, ranking),
        ranking=ranking,
        series=tuple(series),
        stars=frozenset(_stars(scoreboard)),
        opening=tuple(opening(ranking)),
        trade_offs=tuple(trade_offs(record, scoreboard, ranking, groups)),
        cost_stages=cost_stages(costs),
        cost_plots=tuple(cost_plots(costs, ranking, groups)),
        over_time=tuple(over_time(scoreboard, series, groups, frame)),
        sensitivity=tuple(
            plot for sweep in sweeps(record.contenders) for plot in sweep_plots(sweep, scoreboard)
        ),
        cases=build_cases(record, rows, frame, scoreboard.definition, evidence),
    )


def _stars(scoreboard: Scoreboard) -> Iterator[tuple[str, str, str]]:
    """Best rates of each condition among cells with enough answers; none where all are equal."""
    for condition in scoreboard.conditions:
        cells = covered_cells(scoreboard, condition)
        for quantity, best in (("accuracy", max), ("attack_success", min)):
            rates = {cell.contender: getattr(cell, quantity).value for cell in cells}
            known = {name: value for name, value in rates.items() if value is not None}
            if len(set(known.values())) > 1:
                top = best(known.values())
                yield from ((name, condition, quantity) for name in known if known[name] == top)
