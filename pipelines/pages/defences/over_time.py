"""Histories: what became of the answers over time, and rates and beliefs along the way."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.dynamics import Point
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.pipelines.pages.charts import bars, panel
from radarstream.pipelines.pages.defences.plots import Group
from radarstream.pipelines.pages.outcomes import OUTCOMES
from radarstream.pipelines.pages.scales import Axis, Segment, Series, Share, Spot, tenths

Read = Callable[[Point], tuple[float | None, float | None]]  # a value, and one before it


def _rate(quantity: str, point: Point) -> tuple[float | None, None]:
    return getattr(point, quantity).value, None


RATES: dict[str, Read] = {
    "Accuracy": partial(_rate, "accuracy"),
    "Attack success": partial(_rate, "attack_success"),
    "Stale answers": partial(_rate, "stale"),
}
BELIEFS: dict[str, Read] = {
    "Belief in staying": attrgetter("support_posterior", "support_prior"),
    "Belief in being wrong": attrgetter("conflict_posterior", "conflict_prior"),
}


@dataclass(frozen=True, slots=True)
class OverTime:
    """One condition over time; where contenders are many, only the first attack is `unfolded`."""

    condition: str
    timeline: Markup
    rates: tuple[Markup, ...]
    beliefs: tuple[Markup, ...]
    unfolded: bool


@dataclass(frozen=True, slots=True)
class Along:
    """One condition along its steps: `points` by contender and place; `places` are years or steps,
    `names` their dates, and those of `attacked` (numbers of places) were attacked.
    """

    points: Mapping[str, Mapping[int, Point]]
    places: Sequence[int]
    names: Sequence[str]
    attacked: Sequence[int]

    def panel(self, group: Group, title: str, read: Read) -> Iterator[Markup]:
        """What `read` takes from points; nothing if nobody has any."""
        lines = [(one, list(self._spots(one, read))) for one in group.series]
        values = [v for _, spots in lines for s in spots for v in (s.y.value, s.before)]
        ends = [(value, value) for value in values if value is not None]
        if ends:
            x = Axis(-0.4, len(self.names) - 0.6, names=dict(enumerate(self.names)))
            yield panel(group.heading(title), lines, x, tenths(ends),
                        joined=True, marked=self.attacked)  # fmt: skip

    def _spots(self, one: Series, read: Read) -> Iterator[Spot]:
        for place, at in enumerate(self.places):
            point = self.points[one.name].get(at)
            value, before = (None, None) if point is None else read(point)
            if value is not None:
                share = Share(value)
                words = f"{one.name}, {self.names[place]}: {share}"
                yield Spot(place, share, before=before, words=words)


def over_time(
    scoreboard: Scoreboard, series: Sequence[Series], groups: Sequence[Group], frame: pl.DataFrame
) -> Iterator[OverTime]:
    """Plots of every condition that has answers; none for a static data set."""
    if scoreboard.static:
        return
    dynamics = [cell.dynamics for cell in scoreboard.cells if cell.dynamics]
    years = max((len(one.by_year) for one in dynamics), default=0) > 1
    names = {} if years else _dates(frame)
    at = pl.col("observed_at").dt.year().cast(int) if years else pl.col("step")
    outcome = scoreboard.definition.column("outcome")
    grouped = frame.group_by("contender", "condition", at.alias("at"), outcome).len()
    counts = {row[:4]: row[4] for row in grouped.rows()}
    answered = set(frame["condition"])
    first = next((c for c in scoreboard.conditions if c != BENIGN), BENIGN)
    for condition in filter(answered.__contains__, scoreboard.conditions):
        along = _along(scoreboard, condition, series, names, years=years)
        rates = [kind for kind in RATES.items() if kind[0] != "Attack success" or along.attacked]
        everyone = Group("", tuple(series))
        yield OverTime(
            condition,
            _timeline(condition, series, along, counts),
            tuple(p for kind in rates for group in groups for p in along.panel(group, *kind)),
            tuple(p for kind in BELIEFS.items() for p in along.panel(everyone, *kind)),
            unfolded=len(groups) == 1 or condition == first,
        )


def _dates(frame: pl.DataFrame) -> dict[int, str]:
    """The date of every step that all questions share."""
    day = pl.col("observed_at").dt.strftime("%Y-%m-%d")
    dates = frame.group_by("step").agg(day.first().alias("day"), day.n_unique().alias("days"))
    return {at: name for at, name, days in dates.rows() if days == 1}


def _along(
    scoreboard: Scoreboard,
    condition: str,
    series: Sequence[Series],
    names: Mapping[int, str],
    *,
    years: bool,
) -> Along:
    points: dict[str, dict[int, Point]] = {}
    for one in series:
        dynamics = scoreboard.cell(one.name, condition).dynamics
        held = () if dynamics is None else dynamics.by_year if years else dynamics.by_step
        points[one.name] = {point.at: point for point in held}
    places = sorted({at for held in points.values() for at in held})
    return Along(
        points,
        places,
        [names.get(at, str(at if years else at + 1)) for at in places],
        [
            place
            for place, at in enumerate(places)
            if any(at in held and held[at].attacked.hits for held in points.values())
        ],
    )


def _timeline(
    condition: str,
    series: Sequence[Series],
    along: Along,
    counts: Mapping[tuple[str, str, int, str], int],
) -> Markup:
    """Rows are contenders, columns dates, each cell a bar of what its answers turned out to be."""
    segments = []
    for one in series:
        for place, at in enumerate(along.places):
            found = [(look, counts.get((one.name, condition, at, outcome), 0))
                     for outcome, look in OUTCOMES.items()]  # fmt: skip
            total, start = sum(count for _, count in found), float(place)
            for look, count in found:
                if count:
                    end = start + 0.96 * count / total
                    words = f"{along.names[place]}: {count} of {total} {look.words}"
                    segments.append(
                        Segment(one.shown, start, end, look.colour, words, str(count), look.ink)
                    )
                    start = end
    size = len(along.places)
    axis = Axis(0, size, names={n + 0.48: name for n, name in enumerate(along.names)})
    width = round(min(150, max(34, 720 / max(1, size))) * size)
    marked = [place + 0.48 for place in along.attacked]
    return bars("What the answers turned out to be", segments, axis, width=width, marked=marked)
