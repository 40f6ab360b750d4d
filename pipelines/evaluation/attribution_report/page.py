"""Pages on wrong answers and on sources: HTML files that ask the network for nothing."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from radarstream.connectors.models.bundled import licences
from radarstream.pipelines.evaluation.attribution_report.sources_view import SourcesView
from radarstream.pipelines.evaluation.attribution_report.stream_view import StreamView
from radarstream.pipelines.evaluation.attribution_report.study_view import StudyView
from radarstream.pipelines.evaluation.report.page import asset, page_environment, script_hash
from radarstream.pipelines.evaluation.report.safe_text import without_secrets

PACKAGE = "radarstream.pipelines.evaluation.attribution_report"
STYLES = (
    ("radarstream.pipelines.evaluation.report", "report.css"),
    ("radarstream.pipelines.evaluation.experiment_report", "experiment.css"),
    (PACKAGE, "attribution.css"),
)
ATTRIBUTIONS, SOURCES, STUDY = "attributions.html", "sources.html", "report.html"
Heads = Sequence[tuple[str, object]]
SCORES = (
    (
        "Similarity",
        "of the text to the question: the retriever's, or the cosine of their embeddings.",
    ),
    (
        "Question",
        "semantic correlation: mean log-probability of the question's words after the text.",
    ),
    (
        "Influence",
        "on the answer: mean log-probability of the wrong answer's words after text and question.",
    ),
    (
        "Combined",
        "mean of the three, each as standard deviations from the mean of the event. The texts are "
        "split into two groups where that leaves least spread within them; the higher one is "
        "flagged. Other attributors score by other means.",
    ),
)
DECIDED = (
    ("Quarantine", "the text is left out of snapshots from now on. It is kept and can be let in."),
    (
        "Without flagged",
        "what the same question is answered once the flagged texts are gone. Where that is still "
        "the wrong answer, they are not to blame, and stay.",
    ),
)
LEDGER = (
    (
        "Reliability",
        "how often a source is believed to be right: the mean of a Beta distribution over what "
        "speaks for and against it, which starts at four for and one against, and fades.",
    ),
    (
        "Blamed",
        "for so many wrong answers, each taught by a text of the source. One event counts at most "
        "once, however many texts took part, and no day counts without limit.",
    ),
    (
        "Agreement",
        "the source supported an answer that the next snapshot bore out. Its single days are kept "
        "for some weeks; what is older is in the sum, and the curve draws it from the first day "
        "that is kept.",
    ),
    ("Blocked", "a person said so: its texts are left out."),
    ("Pardoned", "a person said so: it is judged as if nothing were known."),
)


def write_stream_pages(
    out: Path,
    stream: StreamView,
    sources: SourcesView,
    heads: Heads,
    *,
    most: int,
    more: bool = False,
) -> tuple[Path, Path]:
    """Write both pages into a directory and return their paths: wrong answers, sources.

    `more` says that there are more wrong answers than the `most` that are shown.
    """
    sections = [("#result", "Summary")]
    sections += [("#events", "Wrong answers")] * bool(stream.events)
    sections += [("#waiting", "Waiting")] * bool(stream.waiting)
    pages = {
        ATTRIBUTIONS: render(
            "attributions.html.j2",
            title="Who taught wrong answers",
            heads=heads,
            sections=[*sections, ("#words", "Words"), (SOURCES, "Sources →")],
            view=stream,
            words=(*SCORES, *DECIDED),
            most=most,
            more=more,
        ),
        SOURCES: render(
            "sources.html.j2",
            title="Sources and their reliability",
            heads=[*heads, ("as of", sources.as_of or "no event")],
            sections=[
                ("#result", "Summary"),
                *([("#table", "Table"), ("#sources", "Each")] if sources.sources else []),
                ("#words", "Words"),
                (ATTRIBUTIONS, "Wrong answers →"),
            ],
            view=sources,
            words=LEDGER,
        ),
    }
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return out / ATTRIBUTIONS, out / SOURCES


def write_study_page(out: Path, view: StudyView) -> Path:
    """Write the page of a study into its directory and return its path."""
    record = view.record
    sections = [("#result", "Result"), ("#tables", "Tables")]
    sections += [("#events", "Wrong answers")] * bool(view.scenarios)
    provenance = {
        "digest": record.dataset_digest,
        "revision": record.revision,
        "seed": record.seed,
        "seconds": f"{record.seconds:.0f}",
        **record.models,
        **record.versions,
        **{f"prompt {task}": digest for task, digest in record.prompts.items()},
    }
    weights = [("licence of weights", told) for told in licences(record.models.values())]
    text = render(
        "study.html.j2",
        title=f"Attributors compared on {record.dataset}",
        heads=(
            ("texts", record.texts),
            ("k", record.k),
            ("attributors", len(record.attributors)),
            ("scenarios", len(record.scenarios)),
        ),
        sections=[*sections, ("#words", "Words"), ("#provenance", "Provenance")],
        view=view,
        words=SCORES,
        provenance=[*((name, str(value)) for name, value in provenance.items()), *weights],
        settings=json.dumps(
            without_secrets(record.settings),
            indent=2,
            sort_keys=True,
            ensure_ascii=False,
            default=str,
        ),
    )
    (out / STUDY).write_text(text, encoding="utf-8")
    return out / STUDY


def render(template: str, **values: Any) -> str:
    """A page as text, in the frame that all of them share."""
    script = asset(PACKAGE, "attribution.js")
    return (
        _environment()
        .get_template(template)
        .render(
            style=Markup("").join(asset(*style) for style in STYLES),
            script=script,
            script_hash=script_hash(script),
            **values,
        )
    )


@cache
def _environment() -> Environment:
    return page_environment(PACKAGE)
