"""Histories: what became of the answers of every year, rates and beliefs along the years."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from radarstream.pipelines.evaluation.experiment.dynamics import Point
from radarstream.pipelines.evaluation.experiment.records import BENIGN, Row
from radarstream.pipelines.evaluation.experiment.scoreboard import Cell, Scoreboard
from radarstream.pipelines.evaluation.experiment_report.curves_svg import Curve, Spot, curves
from radarstream.pipelines.evaluation.experiment_report.groups import Group
from radarstream.pipelines.evaluation.experiment_report.outcomes import Fate, Place
from radarstream.pipelines.evaluation.experiment_report.panel_svg import Series
from radarstream.pipelines.evaluation.experiment_report.stacks_svg import Step, timeline
from radarstream.pipelines.evaluation.rates import Rate

RATES = (("Accuracy", "accuracy"), ("Attack success", "attack_success"), ("Stale answers", "stale"))
BELIEFS = (("Belief in staying", "support"), ("Belief in being wrong", "conflict"))


@dataclass(frozen=True, slots=True)
class OverTime:
    """One condition over time. `cells` have dynamics, one per contender. Where contenders are many,
    only the first condition that attacks is `unfolded`.
    """

    condition: str
    timeline: Markup
    rates: tuple[Markup, ...]
    beliefs: tuple[Markup, ...]
    cells: tuple[Cell, ...]
    unfolded: bool = True


def over_time(
    scoreboard: Scoreboard,
    series: Sequence[Series],
    groups: Sequence[Group],
    rows: Iterable[Row],
    fates: Mapping[Place, Fate],
) -> list[OverTime]:
    """Plots of every condition; none for a static data set."""
    if scoreboard.static:
        return []
    years = _in_years(scoreboard)
    counts: Counter[tuple[str, str, int, Fate]] = Counter()
    for row in rows:
        fate = fates[row.contender, row.condition, row.query_id, row.step]
        at = row.observed_at.year if years else row.step
        counts[row.contender, row.condition, at, fate] += 1
    first = next((c for c in scoreboard.conditions if c != BENIGN), BENIGN)
    return [
        replace(
            _condition(scoreboard, condition, series, groups, counts, years=years),
            unfolded=len(groups) == 1 or condition == first,
        )
        for condition in scoreboard.conditions
    ]


def _in_years(scoreboard: Scoreboard) -> bool:
    """Whether steps fall into several years."""
    dynamics = [cell.dynamics for cell in scoreboard.cells if cell.dynamics]
    return max((len(one.by_year) for one in dynamics), default=0) > 1


def _condition(
    scoreboard: Scoreboard,
    condition: str,
    series: Sequence[Series],
    groups: Sequence[Group],
    counts: Mapping[tuple[str, str, int, Fate], int],
    *,
    years: bool,
) -> OverTime:
    cells = [scoreboard.cell(one.name, condition) for one in series]
    points = {cell.contender: _points(cell, years=years) for cell in cells}
    places = sorted({at for held in points.values() for at in held})
    attacked = frozenset(
        place
        for place, at in enumerate(places)
        if any(at in held and held[at].attacked.hits for held in points.values())
    )
    steps = [Step(_name(at, years=years), place in attacked) for place, at in enumerate(places)]
    stacks = [
        (one, [{f: counts.get((one.name, condition, at, f), 0) for f in Fate} for at in places])
        for one in series
    ]
    along = Along(points, places, [step.name for step in steps], attacked)
    everyone = Group("", tuple(series))
    return OverTime(
        condition=condition,
        timeline=timeline("What became of the answers", steps, stacks),
        rates=tuple(p for kind in RATES for group in groups for p in along.rates(group, *kind)),
        beliefs=tuple(p for kind in BELIEFS for p in along.beliefs(everyone, *kind)),
        cells=tuple(cell for cell in cells if cell.dynamics),
    )


def _points(cell: Cell, *, years: bool) -> dict[int, Point]:
    if cell.dynamics is None:
        return {}
    return {p.at: p for p in (cell.dynamics.by_year if years else cell.dynamics.by_step)}


def _name(at: int, *, years: bool) -> str:
    return str(at) if years else f"step {at}"


@dataclass(frozen=True, slots=True)
class Along:
    """One condition along its steps: `points` by contender and place; `places` are years or steps,
    `names` what they are called.
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
        lines = [Curve(one, tuple(self._spots(one, spot))) for one in group.series]
        if any(line.spots for line in lines):
            yield curves(group.heading(title), lines, self.names, marked=self.attacked)

    def _spots(self, one: Series, spot: Callable[[Point], Spot | None]) -> Iterator[Spot]:
        for place, at in enumerate(self.places):
            point = self.points[one.name].get(at)
            found = None if point is None else spot(point)
            if found is not None:
                yield replace(found, place=place)


def _rate_spot(rate: Rate) -> Spot | None:
    return None if rate.value is None else Spot(0, rate.value, rate.interval)


def _belief_spot(prior: float | None, posterior: float | None) -> Spot | None:
    return None if posterior is None else Spot(0, posterior, before=prior)
