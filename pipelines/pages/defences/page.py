"""The page of a study of defences, and its tables as Markdown beside it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.connectors.models.tiers import limits, tier_of
from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.breaking_tables import KEY as BREAKING_POINT
from radarstream.pipelines.evaluation.defences.comparison_tables import INTERVALS
from radarstream.pipelines.evaluation.defences.ranking import covered_cells, rank
from radarstream.pipelines.evaluation.defences.records import DefencesRecord, EvidenceRow, Row
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard, fewer, mean_cost
from radarstream.pipelines.evaluation.defences.tables import tables_of
from radarstream.pipelines.pages import frame as pages
from radarstream.pipelines.pages.defences import plots
from radarstream.pipelines.pages.defences.breaking import breaking_views
from radarstream.pipelines.pages.defences.cases import build_cases
from radarstream.pipelines.pages.defences.headline import Headline, headline
from radarstream.pipelines.pages.defences.markdown import (
    DEFINITIONS,
    data_table,
    markdown_tables,
    provenance,
)
from radarstream.pipelines.pages.defences.over_time import over_time
from radarstream.pipelines.pages.defences.sensitivity import sweep_plots, sweeps
from radarstream.pipelines.pages.island import island
from radarstream.pipelines.pages.outcomes import OUTCOMES

REPORT, TABLES = "report.html", "tables.md"
SHOWN: Final = {"rates", "cost", "dynamics", "storage"}  # tables that have a section of their own


def write_defences_page(
    out: Path,
    record: DefencesRecord,
    rows: Iterable[Row],
    evidence: Iterable[EvidenceRow],
    scoreboard: Scoreboard,
    frame: pl.DataFrame,
) -> Headline:
    """Write `report.html` and `tables.md` into `out` and return what stands at their top.

    Of rows about one answer the last counts; `evidence` is read once and not kept. `frame` is the
    table of answers, `scoreboard` what was computed from it.
    """
    ranking = rank(frame, record, scoreboard)
    found = headline(record, scoreboard, ranking)
    series = plots.series_of(record)
    groups = plots.groups_of(record, series)
    spent = ((one, mean_cost(cell.cost for cell in scoreboard.of(one.name)))
             for one in series)  # fmt: skip
    costs = [(one, cost) for one, cost in spent if cost.answers]
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
    text = pages.render(
        "defences.html.j2",
        _page(record, found, Markup("").join(plots.opening(ranking)), links),
        "cases.js",
        record=record,
        scoreboard=scoreboard,
        ranking=ranking,
        series=series,
        stars=frozenset(_stars(scoreboard)),
        breaking=breaking,
        trade_offs=trade_offs,
        coverage=coverage,
        selective=[table for key, table in tables.items() if key.startswith("selective_")],
        histories=histories,
        stage_names=plots.STAGES,
        stages=stages,
        cost_plots=list(plots.cost_plots(costs, ranking, groups)),
        curves=curves,
        cases=build_cases(record, rows, frame, scoreboard.definition, evidence),
        data=data_table(record),
        cost=tables["cost"],
        dynamics=[tables[key] for key in ("dynamics", "storage") if key in tables],
        more_tables=[
            table
            for key, table in tables.items()
            if key not in SHOWN and not key.startswith((BREAKING_POINT, "selective_"))
        ],
        fewer=fewer,
        benign=BENIGN,
        intervals=INTERVALS,
        letters={look.letter: (name, look.mark, look.words) for name, look in OUTCOMES.items()},
        island=island,
    )
    (out / REPORT).write_text(text, encoding="utf-8")
    (out / TABLES).write_text(markdown_tables(record, scoreboard, found), encoding="utf-8")
    return found


def _page(
    record: DefencesRecord,
    found: Headline,
    opening: Markup,
    links: Sequence[tuple[str, str, object]],
) -> pages.Page:
    return pages.Page(
        title=f"Defences compared on {record.dataset}",
        sentence=found.verdict,
        more=found.sentences,
        plot=Markup('<div class="plots">%s</div>') % opening,
        links=links,
        words=DEFINITIONS,
        heads=(
            ("questions", record.questions),
            ("half", record.half),
            ("documents each", record.k),
            ("contenders", len(record.contenders)),
            ("conditions", len(record.conditions)),
            ("language model", tier_of(record.models.get("generator", ""))),
        ),
        notes=(*limits(record.models), *record.notes),
        provenance=[*provenance(record), *record.versions.items(), *record.prompts.items()],
        command=record.command,
        settings=record.settings,
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
