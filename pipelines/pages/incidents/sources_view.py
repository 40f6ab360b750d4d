"""The source ledger as a page shows it: which sources are blamed, since when, for what."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from markupsafe import Markup

from radarstream.connectors.state_table.sources.listing import SourceRecord, SourceSummary
from radarstream.defenses.kernels.honesty import credible_interval, distrust
from radarstream.pipelines.pages.incidents.charts import WORDS, Mark, Point, reliability
from radarstream.pipelines.pages.times import day
from radarstream.schemas.sources import DAY_MS, NEUTRAL, Counts, EventKind, SourceVerdict

SAMPLES = 24  # of the curve, beside its events
MOST_POINTS = 48  # each takes an integral
EARLIER = 30 * DAY_MS  # shown before the first event
KINDS_AGAINST = (EventKind.CONFIRMED, EventKind.DETECTED)


@dataclass(frozen=True, slots=True)
class Known:
    """A source with its row of the ledger and the evidence behind it, newest first."""

    summary: SourceSummary
    records: tuple[SourceRecord, ...]


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One piece of evidence; `event` is the anchor of the incident it is about, if shown."""

    when: str
    words: str
    tone: str
    weight: str
    claim: str
    where: str
    event: str | None


@dataclass(frozen=True, slots=True)
class SourceView:
    """One domain. Reliability and its interval are the posterior's, `distrust` what RADAR reads."""

    anchor: str
    domain: str
    verdict: str
    note: str
    reliability: float
    low: float
    high: float
    distrust: float
    for_it: float
    against: float
    blamed: int
    first: str
    last: str
    claims: tuple[str, ...]
    chart: Markup
    records: tuple[RecordLine, ...]
    pardoned: bool


@dataclass(frozen=True, slots=True)
class SourcesView:
    """The whole page; `total` counts all domains of the ledger, shown or not."""

    sources: tuple[SourceView, ...]
    total: int
    as_of: str
    half_life_days: float
    blamed: int
    verdicts: tuple[tuple[str, int], ...]


def sources_view(
    known: Sequence[Known],
    *,
    total: int,
    as_of_ms: int,
    half_life_days: float,
    anchors: Mapping[tuple[str, int], str] | None = None,
) -> SourcesView:
    """Arrange the ledger as of its latest event, all domains on one axis of time.

    `anchors` leads from query and step to the incident on its page.
    """
    times = [record.at_ms for one in known for record in one.records]
    start_ms = min(times, default=as_of_ms) - EARLIER
    return SourcesView(
        sources=tuple(
            _source(number, one, start_ms, as_of_ms, half_life_days, anchors or {})
            for number, one in enumerate(known, start=1)
        ),
        total=total,
        as_of=day(as_of_ms) if as_of_ms else "",
        half_life_days=half_life_days,
        blamed=sum(one.summary.events for one in known),
        verdicts=tuple(
            Counter(
                one.summary.standing.verdict.value for one in known if one.summary.standing.verdict
            ).items()
        ),
    )


def trace(
    counts: Counts,
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
    older = counts.at(as_of_ms, half_life_days).honest - sum(
        Counts().plus(r.at_ms, half_life_days, honest=r.weight).at(as_of_ms, half_life_days).honest
        for r in agreement
    )
    step = max(1, (as_of_ms - start_ms) // SAMPLES)
    times = {*range(start_ms, as_of_ms, step), as_of_ms}
    times |= {at for r in against for at in (r.at_ms - 1, r.at_ms) if at <= as_of_ms}
    times |= {since - 1, since} if agreement else set()
    return [
        _point(at, against, agreement, older if at >= since else 0.0, as_of_ms, half_life_days)
        for at in thinned(sorted(times))
    ]


def thinned(times: Sequence[int]) -> Sequence[int]:
    """About `MOST_POINTS` of them at most, evenly, with the first and the last.

    >>> len(thinned(range(1_000))), thinned(range(1_000))[-1]
    (49, 999)
    """
    every = -(-len(times) // MOST_POINTS)
    return [*times[:-1:every], times[-1]]


def _point(
    at_ms: int,
    against: Sequence[SourceRecord],
    agreement: Sequence[SourceRecord],
    older: float,
    as_of_ms: int,
    half_life_days: float,
) -> Point:
    dishonest = sum(_faded(r, at_ms, half_life_days) for r in against)
    honest = sum(_faded(r, at_ms, half_life_days) for r in agreement)
    if older > 0.0:  # as it weighs now, which is less than it weighed then
        fading = Counts(honest=1.0, as_of_ms=at_ms).at(as_of_ms, half_life_days).honest
        honest += older / fading
    counts = Counts(honest, dishonest, at_ms)
    low, high = _interval(*(round(parameter, 3) for parameter in counts.parameters))
    return Point(at_ms, counts.honesty, low, high)


def _faded(record: SourceRecord, at_ms: int, half_life_days: float) -> float:
    """What a record weighs at a time; nothing before it."""
    if record.at_ms > at_ms:
        return 0.0
    return Counts(honest=record.weight, as_of_ms=record.at_ms).at(at_ms, half_life_days).honest


@cache
def _interval(honest: float, dishonest: float) -> tuple[float, float]:
    return credible_interval(honest, dishonest)


def _source(
    number: int,
    known: Known,
    start_ms: int,
    as_of_ms: int,
    half_life_days: float,
    anchors: Mapping[tuple[str, int], str],
) -> SourceView:
    summary, standing = known.summary, known.summary.standing
    counts = standing.counts.at(as_of_ms, half_life_days)
    low, high = _interval(*(round(parameter, 3) for parameter in counts.parameters))
    used = standing.honesty(as_of_ms, half_life_days)
    points = trace(standing.counts, known.records, start_ms, as_of_ms, half_life_days)
    marks = [Mark(record.at_ms, record.kind) for record in known.records]
    return SourceView(
        anchor=f"source-{number}",
        domain=standing.domain,
        verdict=standing.verdict or "",
        note=standing.note or "",
        reliability=counts.honesty,
        low=low,
        high=high,
        distrust=float(distrust(np.array(used), NEUTRAL)),
        for_it=counts.honest,
        against=counts.dishonest,
        blamed=summary.events,
        first=_day(summary.first_ms),
        last=_day(summary.last_ms),
        claims=summary.claims,
        chart=reliability(points, marks, start_ms, as_of_ms),
        records=tuple(_line(record, anchors) for record in known.records),
        pardoned=standing.verdict is SourceVerdict.PARDONED,
    )


def _line(record: SourceRecord, anchors: Mapping[tuple[str, int], str]) -> RecordLine:
    there = record.query_id is not None and record.step is not None
    tones = {EventKind.CONFIRMED: "bad", EventKind.DETECTED: "other", EventKind.AGREEMENT: "good"}
    return RecordLine(
        when=day(record.at_ms),
        words=WORDS[record.kind],
        tone=tones.get(record.kind, "none"),
        weight=f"{record.weight:.2f}",
        claim=record.claim or "",
        where=record.query_id or "",
        event=anchors.get((record.query_id or "", record.step or 0)) if there else None,
    )


def _day(at_ms: int | None) -> str:
    return "" if at_ms is None else day(at_ms)
