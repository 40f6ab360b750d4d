"""The page of a study of defences, and its tables as Markdown beside it."""

import re
from pathlib import Path
from typing import Final

from markupsafe import Markup, escape

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.scoreboard import fewer
from radarstream.pipelines.evaluation.defences.tables import tables_of
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.defences.markdown import (
    DEFINITIONS,
    data_table,
    markdown_tables,
    provenance,
)
from radarstream.pipelines.pages.defences.plots import STAGES
from radarstream.pipelines.pages.defences.view import DefencesView
from radarstream.pipelines.pages.island import island
from radarstream.pipelines.pages.outcomes import OUTCOMES
from radarstream.pipelines.pages.safe_text import visible

REPORT, TABLES = "report.html", "tables.md"
SHOWN: Final = {"rates", "cost", "dynamics", "storage"}  # tables that have a section of their own


def write_defences_page(out: Path, view: DefencesView) -> Path:
    """Write `report.html` and `tables.md` into `out` and return the path of the former."""
    (out / TABLES).write_text(markdown_tables(view), encoding="utf-8")
    (out / REPORT).write_text(render(view), encoding="utf-8")
    return out / REPORT


def render(view: DefencesView) -> str:
    """The page as text."""
    record = view.record
    tables = {table.key: table for table in tables_of(view.scoreboard)}
    links = [
        ("#table", "Table", True),
        ("#trade-off", "Trade-off", view.trade_offs),
        ("#over-time", "Over time", view.over_time),
        ("#cost", "Cost", view.cost_stages),
        ("#sensitivity", "Sensitivity", view.sensitivity),
        ("#cases", "Questions", True),
    ]
    page = frame.Page(
        title=f"Defences compared on {record.dataset}",
        sentence=view.headline.verdict,
        more=view.headline.sentences,
        plot=Markup('<div class="plots">%s</div>') % Markup("").join(view.opening),
        links=links,
        words=DEFINITIONS,
        heads=(
            ("questions", record.questions),
            ("documents each", record.k),
            ("contenders", len(record.contenders)),
            ("conditions", len(record.conditions)),
        ),
        notes=record.notes,
        provenance=[*provenance(record), *record.versions.items(), *record.prompts.items()],
        command=record.command,
        settings=record.settings,
    )
    return frame.render(
        "defences.html.j2",
        page,
        "cases.js",
        view=view,
        data=data_table(record),
        definition=view.scoreboard.definition,
        cost=tables["cost"],
        dynamics=[tables[key] for key in ("dynamics", "storage") if key in tables],
        more_tables=[table for key, table in tables.items() if key not in SHOWN],
        fewer=fewer,
        benign=BENIGN,
        letters={look.letter: (name, look.mark, look.words) for name, look in OUTCOMES.items()},
        stage_names=STAGES,
        island=island,
        breakable=breakable,
    )


def breakable(name: str) -> Markup:
    """A name that may be broken after its marks instead of anywhere."""
    return Markup(re.sub(r"([_:,+=\[])", r"\1<wbr>", str(escape(visible(name)))))  # noqa: S704  (escaped)
