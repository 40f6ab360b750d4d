"""The report page: one HTML file that asks the network for nothing and trusts no text."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain

from jinja2 import Environment

from radarstream.pipelines.evaluation.metrics import DEFINITION, MEANING
from radarstream.pipelines.evaluation.report import charts_svg
from radarstream.pipelines.evaluation.report.graph_svg import cut_graph
from radarstream.pipelines.evaluation.report.page import asset, page_environment, script_hash
from radarstream.pipelines.evaluation.report.safe_text import without_secrets
from radarstream.pipelines.evaluation.report.view import (
    MAX_LISTED,
    MAX_UNFOLDED,
    ReportView,
    build_view,
)
from radarstream.pipelines.evaluation.run_record import RunRecord
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import SearchSnapshot

PACKAGE = "radarstream.pipelines.evaluation.report"
OPEN_QUERIES = 12  # up to this many sections start unfolded


def render_report(
    answers: Sequence[AnswerEvent],
    snapshots: Mapping[str, SearchSnapshot],
    run: RunRecord,
    *,
    title: str = "Defended answers",
) -> str:
    """Render a run as one self-contained HTML page.

    Parameters
    ----------
    answers
        Events of any number of queries, in any order; a query's steps are sorted.
    snapshots
        By snapshot id. Where an event's snapshot is missing, its texts and labels are left out.
    run
        Provenance and totals; secrets in its settings are redacted once more here.
    title
        Heading of the page.
    """
    view = build_view(answers, snapshots, run)
    script = asset(PACKAGE, "report.js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            view=view,
            definition=DEFINITION,
            meaning=MEANING,
            open_queries=len(view.detailed) <= OPEN_QUERIES,
            first_open=_first_open(view),
            settings=json.dumps(
                without_secrets(run.settings),
                indent=2,
                sort_keys=True,
                ensure_ascii=False,
                default=str,
            ),
            style=asset(PACKAGE, "report.css"),
            script=script,
            script_hash=script_hash(script),
        )
    )


def _first_open(view: ReportView) -> str:
    """Anchor of the step to show unfolded: the first finding that has a section."""
    for finding in chain.from_iterable(group.findings for group in view.groups):
        if view.has_section(finding.query):
            return finding.step.anchor
    return view.detailed[0].steps[0].anchor if view.detailed else ""


@cache
def _environment() -> Environment:
    environment = page_environment(PACKAGE)
    environment.globals |= {
        "cut_graph": cut_graph,
        "history": charts_svg.history,
        "strip": charts_svg.strip,
        "marks": charts_svg.MARKS,
        "outcome_words": charts_svg.WORDS,
        "max_listed": MAX_LISTED,
        "max_unfolded": MAX_UNFOLDED,
    }
    return environment
