"""Contenders that differ in one option only, as curves along that option's values."""

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from markupsafe import Markup

from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.evaluation.defences.records import Contender
from radarstream.pipelines.evaluation.defences.scoreboard import Estimate, Scoreboard, Summary
from radarstream.pipelines.evaluation.defences.scorers import NOISE
from radarstream.pipelines.evaluation.study.specs import plain
from radarstream.pipelines.pages.charts import panel
from radarstream.pipelines.pages.scales import Axis, Series, Share, Spot, tenths

ASIDE = 0.05  # of the distance between two values
NOISY, SCORER, OWN = "share of noisy relations", "relation scorer", "as is"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Contenders along one option, in the order of its values."""

    defense: str
    option: str
    contenders: tuple[Contender, ...]
    values: tuple[str, ...]


def sweeps(contenders: Sequence[Contender]) -> list[Sweep]:
    """Every option that at least two otherwise equal contenders differ in."""
    axes = dict.fromkeys(
        [(c.defense, name) for c in contenders for name, _ in c.options]
        + [(c.defense, axis) for c in contenders if c.relations for axis in (NOISY, SCORER)]
    )
    return [sweep for defense, option in axes for sweep in _along(contenders, defense, option)]


def _along(contenders: Sequence[Contender], defense: str, option: str) -> Iterator[Sweep]:
    groups: dict[object, list[tuple[Any, Contender]]] = {}
    for contender in contenders:
        if contender.defense != defense:
            continue
        others = tuple(sorted((n, str(v)) for n, v in contender.options if n != option))
        relations = "" if option in (NOISY, SCORER) else contender.relations
        group = groups.setdefault((others, contender.adaptation, relations), [])
        value = _value(contender, option)
        if value is not None and value not in [held for held, _ in group]:
            group.append((value, contender))
    for members in groups.values():
        if len(members) > 1:
            if all(isinstance(value, int | float) for value, _ in members):
                members.sort(key=lambda member: float(member[0]))
            yield Sweep(
                defense,
                option,
                tuple(contender for _, contender in members),
                tuple(_shown(value) for value, _ in members),
            )


def _value(contender: Contender, option: str) -> Any:
    """The option's value; its default where the contender does not name it, None if unknown."""
    noisy = contender.relations.startswith(NOISE)
    if option == NOISY:
        rate = contender.relations.removeprefix(NOISE)
        return float(rate or 0.0) if noisy or not rate else None
    if option == SCORER:
        return None if noisy else contender.relations or OWN
    if option in dict(contender.options):
        return dict(contender.options)[option]
    defense = DEFENSES.get(contender.defense)
    for field in fields(defense) if defense else ():  # type: ignore[arg-type]
        if field.name == option and field.default is not MISSING:
            return field.default
    return None


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else plain(value)


def sweep_plots(sweep: Sweep, scoreboard: Scoreboard) -> list[Markup]:
    """Accuracy and attack success along the option, one line per condition."""
    plots = []
    for title, quantity in (("accuracy", "accuracy"), ("attack success", "attack_success")):
        count = len(scoreboard.conditions)
        lines = [
            (
                Series(condition, number),
                list(_spots(sweep, condition, quantity, scoreboard, (number - count / 2) * ASIDE)),
            )
            for number, condition in enumerate(scoreboard.conditions)
        ]
        names = {float(place): value for place, value in enumerate(sweep.values)}
        x = Axis(-0.4, len(names) - 0.6, sweep.option, names)
        y = tenths([spot.y.ends for _, spots in lines for spot in spots])
        heading = f"{sweep.defense}: {title} by {sweep.option}"
        plots.append(panel(heading, lines, x, y, joined=True))
    return plots


def _spots(
    sweep: Sweep, condition: str, quantity: str, scoreboard: Scoreboard, aside: float
) -> Iterator[Spot]:
    """`aside` keeps the intervals of several lines from covering each other."""
    for place, contender in enumerate(sweep.contenders):
        cell: Summary = scoreboard.cell(contender.name, condition)
        estimate: Estimate = getattr(cell, quantity)
        if estimate.value is not None:
            share = Share(estimate.value, estimate.low, estimate.high)
            words = f"{condition}, {sweep.option} {sweep.values[place]}: {share}"
            yield Spot(place + aside, share, words=words)
