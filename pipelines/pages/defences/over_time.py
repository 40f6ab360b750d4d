"""Histories: what became of the answers over time, and rates and beliefs along the way."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl
from markupsafe import Markup

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.dynamics import Point
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard, Summary
from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.pages.charts import bars, panel
from radarstream.pipelines.pages.defences.groups import Group
from radarstream.pipelines.pages.outcomes import COLOURS, ORDER, WORDS
from radarstream.pipelines.pages.scales import Axis, Segment, Series, Share, Spot, tenths

RATES = (("Accuracy", "accuracy"), ("Attack success", "attack_success"), ("Stale answers", "stale"))
BELIEFS = (("Belief in staying", "support"), ("Belief in being wrong", "conflict"))


@dataclass(frozen=True, slots=True)
class OverTime:
    """One condition over time. Where contenders are many,
    only the first condition that attacks is `unfolded`.
    """

    condition: str
    timeline: Markup
    rates: tuple[Markup, ...]
    beliefs: tuple[Markup, ...]
    unfolded: bool = True


def over_time(
    scoreboard: Scoreboard,
    series: Sequence[Series],
    groups: Sequence[Group],
    frame: pl.DataFrame,
) -> list[OverTime]:
    """Plots of every condition that has answers; none for a static data set."""
    if scoreboard.static:
        return []
    years = _in_years(scoreboard)
    names = None if years else _names(frame)
    at = pl.col("observed_at").dt.year().cast(int) if years else pl.col("step")
    outcome = scoreboard.definition.column("outcome")
    grouped = frame.group_by("contender", "condition", at.alias("at"), outcome).len()
    counts = {row[:4]: row[4] for row in grouped.rows()}
    answered = set(frame["condition"])
    first = next((c for c in scoreboard.conditions if c != BENIGN), BENIGN)
    return [
        replace(
            _condition(scoreboard, condition, series, groups, counts, names),
            unfolded=len(groups) == 1 or condition == first,
        )
        for condition in scoreboard.conditions
        if condition in answered
    ]


def _in_years(scoreboard: Scoreboard) -> bool:
    """Whether steps fall into several years."""
    dynamics = [cell.dynamics for cell in scoreboard.cells if cell.dynamics]
    return max((len(one.by_year) for one in dynamics), default=0) > 1


def _names(frame: pl.DataFrame) -> dict[int, str]:
    """The date of every step where all questions share it, else its number, from 1."""
    day = pl.col("observed_at").dt.strftime("%Y-%m-%d")
    dates = frame.group_by("step").agg(day.first().alias("day"), day.n_unique().alias("days"))
    return {at: name if days == 1 else str(at + 1) for at, name, days in dates.rows()}


def _condition(
    scoreboard: Scoreboard,
    condition: str,
    series: Sequence[Series],
    groups: Sequence[Group],
    counts: Mapping[tuple[str, str, int, str], int],
    names: Mapping[int, str] | None,
) -> OverTime:
    cells = [scoreboard.cell(one.name, condition) for one in series]
    points = {cell.contender: _points(cell, years=names is None) for cell in cells}
    places = sorted({at for held in points.values() for at in held})
    attacked = frozenset(
        place
        for place, at in enumerate(places)
        if any(at in held and held[at].attacked.hits for held in points.values())
    )
    words = [str(at) if names is None else names.get(at, str(at + 1)) for at in places]
    along = Along(points, places, words, attacked)
    everyone = Group("", tuple(series))
    found = {
        one.shown: [
            {o: counts.get((one.name, condition, at, o), 0) for o in ORDER} for at in places
        ]
        for one in series
    }
    return OverTime(
        condition=condition,
        timeline=_timeline(found, words, attacked),
        rates=tuple(p for kind in RATES for group in groups for p in along.rates(group, *kind)),
        beliefs=tuple(p for kind in BELIEFS for p in along.beliefs(everyone, *kind)),
    )


def _timeline(
    found: Mapping[str, Sequence[Mapping[str, int]]], words: Sequence[str], attacked: frozenset[int]
) -> Markup:
    """Rows are contenders, columns dates, each cell a bar of what its answers turned out to be."""
    segments = []
    for name, columns in found.items():
        for place, counts in enumerate(columns):
            total, start = sum(counts.values()) or 1, float(place)
            for outcome, count in counts.items():
                if count:
                    end = start + 0.96 * count / total
                    said = f"{words[place]}: {count} of {total} {WORDS[outcome]}"
                    segments.append(
                        Segment(name, start, end, COLOURS[outcome][0], said, str(count),
                                COLOURS[outcome][1])
                    )  # fmt: skip
                    start = end
    axis = Axis(0, len(words), names={n + 0.48: word for n, word in enumerate(words)})
    width = round(min(150, max(34, 720 / max(1, len(words)))) * len(words))
    marked = [place + 0.48 for place in sorted(attacked)]
    return bars("What the answers turned out to be", segments, axis, width=width, marked=marked)


def _points(cell: Summary, *, years: bool) -> dict[int, Point]:
    if cell.dynamics is None:
        return {}
    return {p.at: p for p in (cell.dynamics.by_year if years else cell.dynamics.by_step)}


@dataclass(frozen=True, slots=True)
class Along:
    """One condition along its steps: `points` by contender and place; `places` are years or steps,
    `names` their dates.
    """

    points: Mapping[str, Mapping[int, Point]]
    places: Sequence[int]
    names: Sequence[str]
    attacked: frozenset[int]

    def rates(self, group: Group, title: str, quantity: str) -> Iterator[Markup]:
        """A panel of a rate, unless nobody has it; no attack succeeds where there is none."""
        if quantity == "attack_success" and not self.attacked:
            return iter(())
        return self._panel(group, title, lambda point: _rate_spot(getattr(point, quantity)))

    def beliefs(self, group: Group, title: str, quantity: str) -> Iterator[Markup]:
        """A panel of a belief, unless nobody remembers."""
        return self._panel(
            group,
            title,
            lambda point: _belief_spot(
                getattr(point, f"{quantity}_prior"), getattr(point, f"{quantity}_posterior")
            ),
        )

    def _panel(
        self, group: Group, title: str, spot: Callable[[Point], Spot | None]
    ) -> Iterator[Markup]:
        lines = [(one, list(self._spots(one, spot))) for one in group.series]
        spots = [found for _, of_one in lines for found in of_one]
        if not spots:
            return
        seen = [(s.y.value, s.y.value) for s in spots]
        seen += [(s.before, s.before) for s in spots if s.before is not None]
        x = Axis(-0.4, len(self.names) - 0.6, names=dict(enumerate(map(str, self.names))))
        heading = group.heading(title)
        yield panel(heading, lines, x, tenths(seen), joined=True, marked=self.attacked)

    def _spots(self, one: Series, spot: Callable[[Point], Spot | None]) -> Iterator[Spot]:
        for place, at in enumerate(self.places):
            point = self.points[one.name].get(at)
            found = None if point is None else spot(point)
            if found is not None:
                yield replace(found, x=place, words=f"{one.name}, {self.names[place]}: {found.y}")


def _rate_spot(rate: Rate) -> Spot | None:
    return None if rate.value is None else Spot(0, Share(rate.value))


def _belief_spot(prior: float | None, posterior: float | None) -> Spot | None:
    return None if posterior is None else Spot(0, Share(posterior), before=prior)
