"""The page of the source ledger: which sources are blamed, since when, for what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from markupsafe import Markup

from radarstream.connectors.state_table.sources.listing import SourceRecord, SourceSummary
from radarstream.defenses.kernels.honesty import credible_interval, distrust
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.charts import before_after
from radarstream.pipelines.pages.incidents.charts import Point, reliability
from radarstream.pipelines.pages.incidents.words import INCIDENTS, KINDS, LEDGER
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.scales import Change, Share
from radarstream.pipelines.pages.times import day
from radarstream.schemas.sources import DAY_MS, NEUTRAL, Counts, EventKind, Standing

SAMPLES = 24  # of the curve, beside its events
MOST_POINTS = 48  # each takes an integral
DRAWN_SOURCES = 12
EARLIER = 30 * DAY_MS  # shown before the first event
_credible = cache(credible_interval)
KINDS_AGAINST = (EventKind.CONFIRMED, EventKind.DETECTED)


@dataclass(frozen=True, slots=True)
class Known:
    """A source with its row of the ledger and the evidence behind it, newest first."""

    summary: SourceSummary
    records: tuple[SourceRecord, ...]


@dataclass(frozen=True, slots=True)
class SourceView:
    """One source. `counts` and the interval of its reliability are as they weigh now, `distrust` is
    what a defence reads.
    """

    anchor: str
    known: Known
    counts: Counts
    interval: tuple[float, float]
    distrust: float
    chart: Markup

    @property
    def standing(self) -> Standing:
        """Its row of the ledger."""
        return self.known.summary.standing


@dataclass(frozen=True, slots=True)
class SourcesView:
    """The whole page; `total` counts all sources of the ledger, shown or not, and `anchors` leads
    from query and step to the incident on its page.
    """

    sources: tuple[SourceView, ...]
    total: int
    as_of_ms: int
    half_life_days: float
    anchors: Mapping[tuple[str, int], str]


def sources_view(
    known: Sequence[Known],
    *,
    total: int,
    as_of_ms: int,
    half_life_days: float,
    anchors: Mapping[tuple[str, int], str] | None = None,
) -> SourcesView:
    """Arrange the ledger as of its latest event, all sources on one axis of time."""
    times = [record.at_ms for one in known for record in one.records]
    start_ms = min(times, default=as_of_ms) - EARLIER
    sources = tuple(
        _source(f"source-{number}", one, start_ms, as_of_ms, half_life_days)
        for number, one in enumerate(known, start=1)
    )
    return SourcesView(sources, total, as_of_ms, half_life_days, anchors or {})


def trace(
    now: Counts,
    records: Sequence[SourceRecord],
    start_ms: int,
    as_of_ms: int,
    half_life_days: float,
) -> list[Point]:
    """The posterior over time, from the events up to what the ledger says now.

    Agreement is kept for some weeks only. What remains of older agreement is in the ledger's sum,
    and is drawn from the earliest kept day on: before it, the curve knows of blame alone.
    """
    against = [r for r in records if r.kind in KINDS_AGAINST]
    agreement = [r for r in records if r.kind is EventKind.AGREEMENT]
    since = min((r.at_ms for r in agreement), default=as_of_ms)
    step = max(1, (as_of_ms - start_ms) // SAMPLES)
    times = {*range(start_ms, as_of_ms, step), as_of_ms}
    times |= {at for r in against for at in (r.at_ms - 1, r.at_ms) if at <= as_of_ms}
    times |= {since - 1, since} if agreement else set()

    def weight(records: Sequence[SourceRecord], at_ms: int) -> float:
        """What records weigh at a time, none of them before its own."""
        there = (Counts(r.weight, as_of_ms=r.at_ms) for r in records if r.at_ms <= at_ms)
        return sum(counts.at(at_ms, half_life_days).honest for counts in there)

    older = now.at(as_of_ms, half_life_days).honest - weight(agreement, as_of_ms)
    points = []
    for at_ms in thinned(sorted(times)):
        honest = weight(agreement, at_ms)
        if older > 0.0 and at_ms >= since:  # as it weighs now, which is less than it weighed then
            honest += older / Counts(1.0, as_of_ms=at_ms).at(as_of_ms, half_life_days).honest
        counts = Counts(honest, weight(against, at_ms), at_ms)
        points.append(Point(at_ms, counts.honesty, *_interval(counts)))
    return points


def thinned(times: Sequence[int]) -> Sequence[int]:
    """About `MOST_POINTS` of them at most, evenly, with the first and the last.

    >>> len(thinned(range(1_000))), thinned(range(1_000))[-1]
    (49, 999)
    """
    every = -(-len(times) // MOST_POINTS)
    return [*times[:-1:every], times[-1]]


def _interval(counts: Counts) -> tuple[float, float]:
    return _credible(*(round(parameter, 3) for parameter in counts.parameters))


def _source(
    anchor: str, known: Known, start_ms: int, as_of_ms: int, half_life_days: float
) -> SourceView:
    standing = known.summary.standing
    counts = standing.counts.at(as_of_ms, half_life_days)
    used = standing.honesty(as_of_ms, half_life_days)
    points = trace(standing.counts, known.records, start_ms, as_of_ms, half_life_days)
    return SourceView(
        anchor,
        known,
        counts,
        _interval(counts),
        float(distrust(np.array(used), NEUTRAL)),
        reliability(points, known.records, start_ms, as_of_ms),
    )


def sources_page(view: SourcesView, heads: Sequence[tuple[str, object]]) -> str:
    """The page as text."""
    limit = (
        f"{len(view.sources)} of {view.total} sources are shown, those with most against them "
        "first. A greater --limit shows more."
    )
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
        notes=[limit] if len(view.sources) < view.total else [],
    )
    return frame.render(
        "sources.html.j2", page, view=view, incidents_page=INCIDENTS, kinds=KINDS, anchor=_anchor
    )


def _anchor(source: SourceView) -> str:
    return f"#{source.anchor}"


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
