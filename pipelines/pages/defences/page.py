"""The page of a study of defences."""

from collections.abc import Iterator
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.answers import study_frame
from radarstream.pipelines.evaluation.defences.breaking_tables import KEY as BREAKING_POINT
from radarstream.pipelines.evaluation.defences.comparison_tables import INTERVALS
from radarstream.pipelines.evaluation.defences.ranking import covered_cells, rank
from radarstream.pipelines.evaluation.defences.records import (
    FILES,
    DefencesRecord,
    EvidenceRow,
    Row,
    counted,
)
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard, fewer, pooled_cost
from radarstream.pipelines.evaluation.defences.scores import score_cells
from radarstream.pipelines.evaluation.defences.tables import tables_of
from radarstream.pipelines.evaluation.study.harness import judgements_in
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.evaluation.table import Table
from radarstream.pipelines.pages.defences import plots
from radarstream.pipelines.pages.defences.breaking import breaking_views
from radarstream.pipelines.pages.defences.cases import build_cases
from radarstream.pipelines.pages.defences.headline import headline
from radarstream.pipelines.pages.defences.over_time import over_time
from radarstream.pipelines.pages.defences.sensitivity import sweep_plots, sweeps
from radarstream.pipelines.pages.defences.words import DEFINITIONS, data_table
from radarstream.pipelines.pages.island import island
from radarstream.pipelines.pages.outcomes import OUTCOMES
from radarstream.pipelines.pages.studies import Kind, View, page_of

SHOWN: Final = {"rates", "cost", "dynamics", "storage"}  # tables that have a section of their own


def view_of(
    record: DefencesRecord, store: RowStore, scoreboard: Scoreboard, frame: pl.DataFrame
) -> View:
    """The page of a study; what it says at its top is the headline."""
    ranking = rank(frame, record, scoreboard)
    found = headline(record, scoreboard, ranking)
    series = plots.series_of(record)
    groups = plots.groups_of(record, series)
    spent = [(one, pooled_cost(scoreboard.of(one.name))) for one in series]
    costs = [(one, cost) for one, cost in spent if cost]
    breaking = list(breaking_views(scoreboard, groups))
    trade_offs = list(plots.trade_offs(record, scoreboard, ranking, groups))
    coverage = list(plots.coverage_curves(scoreboard, ranking, groups))
    histories = list(over_time(scoreboard, series, groups, frame))
    stages = plots.cost_stages(costs)
    curves = [
        plot for sweep in sweeps(record.contenders) for plot in sweep_plots(sweep, scoreboard)
    ]
    tables = {table.key: table for table in tables_of(scoreboard)}
    links = [
        ("#table", "Table", True),
        ("#breaking-point", "Breaking point", breaking),
        ("#trade-off", "Trade-off", trade_offs),
        ("#coverage", "Coverage", coverage),
        ("#over-time", "Over time", histories),
        ("#cost", "Cost", stages),
        ("#sensitivity", "Sensitivity", curves),
        ("#cases", "Questions", True),
    ]
    page = page_of(
        record,
        f"Defences compared on {record.dataset}",
        found.verdict,
        DEFINITIONS,
        more=found.sentences,
        plot=Markup('<div class="plots">%s</div>') % Markup("").join(plots.opening(ranking)),
        links=links,
        heads=(
            ("questions", record.questions),
            ("documents each", record.k),
            ("contenders", len(record.contenders)),
            ("conditions", len(record.conditions)),
        ),
        provenance=[("attacks on the", record.surface)],
    )
    rows, evidence = counted(store, record, Row), counted(store, record, EvidenceRow)
    values = {
        "record": record,
        "scoreboard": scoreboard,
        "ranking": ranking,
        "series": series,
        "stars": frozenset(_stars(scoreboard)),
        "breaking": breaking,
        "trade_offs": trade_offs,
        "coverage": coverage,
        "selective": [table for key, table in tables.items() if key.startswith("selective_")],
        "histories": histories,
        "stage_names": plots.STAGES,
        "stages": stages,
        "cost_plots": list(plots.cost_plots(costs, ranking, groups)),
        "curves": curves,
        "cases": build_cases(record, rows, frame, scoreboard.definition, evidence),
        "data": data_table(record),
        "cost": tables["cost"],
        "dynamics": [tables[key] for key in ("dynamics", "storage") if key in tables],
        "more_tables": [
            table
            for key, table in tables.items()
            if key not in SHOWN and not key.startswith((BREAKING_POINT, "selective_"))
        ],
        "fewer": fewer,
        "benign": BENIGN,
        "intervals": INTERVALS,
        "letters": {look.letter: (name, look.mark, look.words) for name, look in OUTCOMES.items()},
        "island": island,
    }
    return View(page, (), "defences.html.j2", ("cases.js",), values)


def frame_of(record: DefencesRecord, store: RowStore) -> pl.DataFrame:
    """The table of answers to the questions asked now, whoever answered them."""
    rows, evidence = counted(store, record, Row), counted(store, record, EvidenceRow)
    return study_frame(rows, record, evidence, judgements_in(store))


def scored(record: DefencesRecord, store: RowStore, frame: pl.DataFrame) -> Scoreboard:
    """The results of the table of answers."""
    return score_cells(frame, record, evidence=counted(store, record, EvidenceRow))


def all_tables(record: DefencesRecord, scoreboard: Scoreboard) -> tuple[Table, ...]:
    """The tables of the results, and what was asked about."""
    return (*tables_of(scoreboard), data_table(record))


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


DEFENCES: Final = Kind(DefencesRecord, FILES, frame_of, scored, all_tables, view_of)
