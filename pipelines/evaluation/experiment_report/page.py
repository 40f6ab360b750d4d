"""The report of an experiment: one HTML file that asks the network for nothing, and tables.md."""

import json
import re
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape

from radarstream.pipelines.evaluation.experiment.scoreboard import Estimate
from radarstream.pipelines.evaluation.experiment.tables import tables_of
from radarstream.pipelines.evaluation.experiment_report.definitions import DEFINITIONS
from radarstream.pipelines.evaluation.experiment_report.island import island
from radarstream.pipelines.evaluation.experiment_report.markdown import (
    data_table,
    markdown_tables,
    provenance,
)
from radarstream.pipelines.evaluation.experiment_report.outcomes import MARKS, WORDS, Fate
from radarstream.pipelines.evaluation.experiment_report.stacks_svg import ORDER, STAGES
from radarstream.pipelines.evaluation.experiment_report.view import ExperimentView
from radarstream.pipelines.evaluation.report.page import asset, page_environment, script_hash
from radarstream.pipelines.evaluation.report.safe_text import visible, without_secrets
from radarstream.pipelines.evaluation.report.svg import element

PACKAGE = "radarstream.pipelines.evaluation.experiment_report"
SHARED = "radarstream.pipelines.evaluation.report"
REPORT, TABLES = "report.html", "tables.md"
SHOWN = {"rates", "cost"}  # tables that the page shows in a form of its own


def write_experiment_report(out: Path, view: ExperimentView) -> Path:
    """Write `report.html` and `tables.md` into `out` and return the path of the former."""
    (out / TABLES).write_text(markdown_tables(view), encoding="utf-8")
    (out / REPORT).write_text(render(view), encoding="utf-8")
    return out / REPORT


def render(view: ExperimentView) -> str:
    """The page as text."""
    script = asset(PACKAGE, "experiment.js")
    return (
        _environment()
        .get_template("experiment.html.j2")
        .render(
            view=view,
            record=view.record,
            settings=_json(without_secrets(view.record.settings)),
            provenance=provenance(view.record),
            data=data_table(view.record),
            more_tables=[t for t in tables_of(view.scoreboard) if t.key not in SHOWN],
            definitions=DEFINITIONS,
            style=asset(SHARED, "report.css") + asset(PACKAGE, "experiment.css"),
            script=script,
            script_hash=script_hash(script),
        )
    )


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str)


@cache
def _environment() -> Environment:
    environment = page_environment(PACKAGE)
    environment.filters["breakable"] = breakable
    environment.globals |= {
        "fates": list(ORDER),
        "fate_words": {fate.value: WORDS[fate] for fate in Fate},
        "fate_marks": {fate.value: MARKS[fate] for fate in Fate},
        "stage_names": STAGES,
        "interval_bar": interval_bar,
        "island": island,
    }
    return environment


def breakable(name: str) -> Markup:
    """A name that may be broken after its marks instead of anywhere."""
    return Markup(re.sub(r"([_:,+=\[])", r"\1<wbr>", str(escape(visible(name)))))  # noqa: S704  (escaped)


def interval_bar(estimate: Estimate, tone: str) -> Markup:
    """A rate and its interval as a small bar, from 0 at its left to 1 at its right."""
    width, middle = 74.0, 5.0
    if estimate.value is None:
        return Markup("")
    return element(
        "svg",
        element("line", x1=0, x2=width, y1=middle, y2=middle, class_="track"),
        element("line", x1=estimate.low * width, x2=estimate.high * width, y1=middle, y2=middle,
                class_="span"),
        element("circle", cx=estimate.value * width, cy=middle, r=3, class_="dot"),
        class_=f"interval {tone}",
        viewBox=f"-3 0 {width + 6:g} 10",
        width=width + 6,
        height=10,
        aria_hidden="true",
    )  # fmt: skip
