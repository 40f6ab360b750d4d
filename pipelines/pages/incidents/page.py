"""The pages of the running job: its incidents, and the sources behind them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup

from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.charts import bars, before_after
from radarstream.pipelines.pages.incidents.incidents_view import StreamView
from radarstream.pipelines.pages.incidents.sources_view import SourcesView
from radarstream.pipelines.pages.incidents.words import (
    DECIDED,
    FINDINGS,
    KINDS,
    LEDGER,
    SCORES,
    WAITING,
)
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.scales import Axis, Change, Segment, Share
from radarstream.pipelines.pages.times import day
from radarstream.schemas.sources import NEUTRAL

INCIDENTS: Final = "attributions.html"
SOURCES: Final = "sources.html"
DRAWN_SOURCES: Final = 12
Heads = Sequence[tuple[str, object]]


def write_stream_pages(
    out: Path,
    stream: StreamView,
    sources: SourcesView,
    heads: Heads,
    *,
    most: int,
    more: bool = False,
) -> tuple[Path, Path]:
    """Write both pages into a directory and return their paths: incidents, sources.

    `more` says that there are more incidents than the `most` that are shown.
    """
    paths = out / INCIDENTS, out / SOURCES
    texts = incidents_page(stream, heads, most if more else None), sources_page(sources, heads)
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def incidents_page(view: StreamView, heads: Heads, most: int | None = None) -> str:
    """The page of incidents; with `most` it says that there are more than so many."""
    page = frame.Page(
        title="Wrong answers and the texts that taught them",
        sentence=_found(view),
        plot=_answers(view),
        links=[
            ("#events", "Incidents", view.events),
            ("#waiting", "Waiting", view.waiting),
            (SOURCES, "Sources →", True),
        ],
        words=SCORES | DECIDED,
        heads=heads,
        notes=[]
        if most is None
        else [
            f"Only the newest are shown: there are more than {most}. A greater --limit shows them."
        ],
    )
    return frame.render("incidents.html.j2", page, view=view, waiting=WAITING, findings=FINDINGS)


def _found(view: StreamView) -> str:
    """What was found, in one sentence."""
    if not view.events:
        waiting = len(view.waiting)
        if not waiting:
            return "Nobody has complained about an answer, and the pipeline noticed no wrong one."
        return (
            f"{waiting} {'complaint waits' if waiting == 1 else 'complaints wait'} for attribution."
        )
    same, removed = view.without
    count = len(view.events)
    said = f"{count} wrong {'answer was' if count == 1 else 'answers were'} looked into"
    if not removed:
        return f"{said}; no text was flagged."
    return f"{said}; {removed - same} of {removed} change once the flagged texts are gone."


def _answers(view: StreamView) -> Markup | None:
    """How many of the answers are the wrong one: undefended, defended, without flagged texts."""
    rows = [
        ("undefended", view.undefended),
        ("defended", view.defended),
        ("without the flagged texts", view.without),
    ]
    rows = [(name, held) for name, held in rows if held[1]]
    if not rows:
        return None
    pieces = [
        (name, start, end, colour, words)
        for name, (wrong, all_) in rows
        for start, end, colour, words in (
            (0, wrong, "fooled", f"{wrong} of {all_} answers are the wrong one"),
            (wrong, all_, "correct", f"{all_ - wrong} of {all_} answers are another one"),
        )
        if end > start
    ]
    segments = [
        Segment(name, start, end, colour, words, str(end - start))
        for name, start, end, colour, words in pieces
    ]
    longest = max(all_ for _, (_, all_) in rows)
    title = "Incidents whose answer is the wrong one (red)"
    return bars(title, segments, Axis(0, longest, names={}), width=260)


def sources_page(view: SourcesView, heads: Heads) -> str:
    """The page of the source ledger."""
    page = frame.Page(
        title="Sources and their reliability",
        sentence=_blamed(view),
        plot=_reliability(view),
        links=[
            ("#table", "Table", view.sources),
            ("#sources", "Each source", view.sources),
            (INCIDENTS, "Incidents →", True),
        ],
        words=LEDGER,
        heads=[*heads, ("as of", day(view.as_of_ms) if view.as_of_ms else "no event")],
        notes=list(_limits(view)),
    )
    return frame.render("sources.html.j2", page, view=view, incidents_page=INCIDENTS, kinds=KINDS)


def _blamed(view: SourcesView) -> str:
    if not view.sources:
        return "The ledger is empty: it holds no evidence about any source."
    worse = sum(source.counts.honesty < NEUTRAL for source in view.sources)
    least = min(view.sources, key=lambda source: source.counts.honesty)
    if not worse:
        return "No source is less reliable than an unknown one."
    return (
        f"{worse} of {len(view.sources)} sources {'is' if worse == 1 else 'are'} less reliable "
        f"than an unknown one; the least reliable is {shorten(least.standing.domain, 80)} "
        f"with {least.counts.honesty:.0%}."
    )


def _reliability(view: SourcesView) -> Markup | None:
    """Sources as unknown ones before any evidence, and now."""
    shown = sorted(view.sources, key=lambda source: source.counts.honesty)[:DRAWN_SOURCES]
    changes = [
        Change(
            source.standing.domain,
            Share(NEUTRAL),
            Share(source.counts.honesty, *source.interval),
            "good" if source.counts.honesty >= NEUTRAL else "bad",
        )
        for source in shown
    ]
    title = "Reliability before any evidence ○ and now ●"
    return before_after(title, changes, ("unknown", "now"))


def _limits(view: SourcesView) -> Iterator[str]:
    if len(view.sources) < view.total:
        yield (
            f"{len(view.sources)} of {view.total} sources are shown, those with most against them "
            "first. A greater --limit shows more."
        )
