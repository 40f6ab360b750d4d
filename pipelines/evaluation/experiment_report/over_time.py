"""Histories: what became of the answers of every year, rates and beliefs along the years."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipelines.evaluation.experiment.dynamics import Point
from pipelines.evaluation.experiment.records import Row
from pipelines.evaluation.experiment.scoreboard import Cell, Scoreboard
from pipelines.evaluation.experiment_report.curves_svg import Curve, Spot, curves
from pipelines.evaluation.experiment_report.outcomes import Fate, Place
from pipelines.evaluation.experiment_report.panel_svg import Series
from pipelines.evaluation.experiment_report.stacks_svg import Step, timeline

RATES = (("Accuracy", "accuracy"), ("Attack success", "attack_success"), ("Stale answers", "stale"))
BELIEFS = (("Belief in staying", "support"), ("Belief in being wrong", "conflict"))


@dataclass(frozen=True, slots=True)
class OverTime:
    """One condition over time. `cells` have dynamics, one per contender."""

    condition: str
    timeline: Markup
    rates: tuple[Markup, ...]
    beliefs: tuple[Markup, ...]
    cells: tuple[Cell, ...]


def over_time(
    scoreboard: Scoreboard,
    series: Sequence[Series],
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
    return [
        _condition(scoreboard, condition, series, counts, years=years)
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
    counts: Mapping[tuple[str, str, int, Fate], int],
    *,
    years: bool,
) -> OverTime:
    cells = [scoreboard.cell(one.name, condition) for one in series]
    points = [_points(cell, years=years) for cell in cells]
    places = sorted({at for held in points for at in held})
    attacked = frozenset(
        place
        for place, at in enumerate(places)
        if any(at in held and held[at].attacked.hits for held in points)
    )
    steps = [Step(_name(at, years=years), place in attacked) for place, at in enumerate(places)]
    stacks = [
        (one, [{f: counts.get((one.name, condition, at, f), 0) for f in Fate} for at in places])
        for one in series
    ]
    names = [step.name for step in steps]
    return OverTime(
        condition=condition,
        timeline=timeline("What became of the answers", steps, stacks),
        rates=tuple(_rates(series, points, places, names, attacked)),
        beliefs=tuple(_beliefs(series, points, places, names, attacked)),
        cells=tuple(cell for cell in cells if cell.dynamics),
    )


def _points(cell: Cell, *, years: bool) -> dict[int, Point]:
    if cell.dynamics is None:
        return {}
    return {p.at: p for p in (cell.dynamics.by_year if years else cell.dynamics.by_step)}


def _name(at: int, *, years: bool) -> str:
    return str(at) if years else f"step {at}"


def _rates(
    series: Sequence[Series],
    points: Sequence[Mapping[int, Point]],
    places: Sequence[int],
    names: Sequence[str],
    attacked: frozenset[int],
) -> Iterator[Markup]:
    for title, quantity in RATES:
        lines = [
            Curve(one, tuple(_spots(held, places, quantity)))
            for one, held in zip(series, points, strict=True)
        ]
        if any(line.spots for line in lines):
            yield curves(title, lines, names, marked=attacked)


def _spots(held: Mapping[int, Point], places: Sequence[int], quantity: str) -> Iterator[Spot]:
    for place, at in enumerate(places):
        if at in held and (rate := getattr(held[at], quantity)).value is not None:
            yield Spot(place, rate.value, rate.interval)


def _beliefs(
    series: Sequence[Series],
    points: Sequence[Mapping[int, Point]],
    places: Sequence[int],
    names: Sequence[str],
    attacked: frozenset[int],
) -> Iterator[Markup]:
    for title, quantity in (
        ("Belief in staying", "support"),
        ("Belief in being wrong", "conflict"),
    ):
        lines = [
            Curve(one, tuple(_believed(held, places, quantity)))
            for one, held in zip(series, points, strict=True)
        ]
        if any(line.spots for line in lines):
            yield curves(title, lines, names, marked=attacked)


def _believed(held: Mapping[int, Point], places: Sequence[int], quantity: str) -> Iterator[Spot]:
    for place, at in enumerate(places):
        posterior = getattr(held[at], f"{quantity}_posterior") if at in held else None
        if posterior is not None:
            yield Spot(place, posterior, before=getattr(held[at], f"{quantity}_prior"))
