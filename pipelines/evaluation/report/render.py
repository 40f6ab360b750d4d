"""The report page: one HTML file that asks the network for nothing and trusts no text."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import chain

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipelines.evaluation.report import charts_svg
from pipelines.evaluation.report.graph_svg import cut_graph
from pipelines.evaluation.report.safe_text import shorten, visible, without_secrets
from pipelines.evaluation.report.view import MAX_LISTED, MAX_UNFOLDED, ReportView, build_view
from pipelines.evaluation.run_record import RunRecord
from schemas.events import AnswerEvent
from schemas.snapshot import SearchSnapshot

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
    script = _asset("report.js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            view=view,
            open_queries=len(view.detailed) <= OPEN_QUERIES,
            first_open=_first_open(view),
            settings=json.dumps(
                without_secrets(run.settings),
                indent=2,
                sort_keys=True,
                ensure_ascii=False,
                default=str,
            ),
            style=_asset("report.css"),
            script=script,
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
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
    """Templates that escape everything, fail on unknown names and show hidden characters."""
    environment = Environment(
        loader=PackageLoader("pipelines.evaluation.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "cut_graph": cut_graph,
        "history": charts_svg.history,
        "strip": charts_svg.strip,
        "marks": charts_svg.MARKS,
        "outcome_words": charts_svg.WORDS,
        "max_listed": MAX_LISTED,
        "max_unfolded": MAX_UNFOLDED,
    }
    environment.filters["shorten"] = shorten
    environment.filters["decimal"] = _decimal
    return environment


def _decimal(value: float | None, places: int = 2, signed: bool = False) -> str:
    """A number with a fixed number of decimals, an en dash where there is none."""
    if value is None:
        return "–"
    return f"{value:{'+' if signed else ''}.{places}f}".replace("-", "−")


@cache
def _asset(name: str) -> Markup:
    """A style or script file of this package, trusted as it is ours."""
    text = (files("pipelines.evaluation.report") / "templates" / name).read_text("utf-8")
    return Markup(text)  # noqa: S704  (shipped with the package)
