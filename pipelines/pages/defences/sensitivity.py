"""Contenders that differ in one option only, as curves along that option's values."""

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from markupsafe import Markup

from radarstream.defenses.registry import DEFENSES
from radarstream.pipelines.evaluation.defences.records import Contender
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.pipelines.evaluation.defences.scorers import NOISE
from radarstream.pipelines.evaluation.study.specs import plain
from radarstream.pipelines.pages.charts import panel
from radarstream.pipelines.pages.defences.plots import measured
from radarstream.pipelines.pages.scales import Axis, Series, Spot, tenths

ASIDE = 0.05  # of the distance between two values, so that intervals of lines stay apart
NOISY, SCORER, OWN = "share of noisy relations", "relation scorer", "as is"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Contenders along one option, in the order of its values."""

    defense: str
    option: str
    contenders: tuple[Contender, ...]
    values: tuple[str, ...]


def sweeps(contenders: Sequence[Contender]) -> list[Sweep]:
    """Every option that at least two otherwise equal contenders differ in.

    What has a short name for its options is no part of a sweep.
    """
    contenders = [contender for contender in contenders if not contender.alias]
    axes = dict.fromkeys(
        [(c.defense, name) for c in contenders for name, _ in c.options]
        + [(c.defense, axis) for c in contenders if c.relations for axis in (NOISY, SCORER)]
    )
    return [sweep for defense, option in axes for sweep in _along(contenders, defense, option)]


def _along(contenders: Sequence[Contender], defense: str, option: str) -> Iterator[Sweep]:
    groups: dict[object, dict[Any, Contender]] = {}
    for contender in contenders:
        value = _value(contender, option)
        if contender.defense == defense and value is not None:
            others = tuple(sorted((n, str(v)) for n, v in contender.options if n != option))
            relations = "" if option in (NOISY, SCORER) else contender.relations
            group = groups.setdefault((others, contender.adaptation, relations), {})
            group.setdefault(value, contender)
    for members in groups.values():
        if len(members) > 1:
            values = list(members)
            if all(isinstance(value, int | float) for value in values):
                values.sort()
            found = tuple(members[value] for value in values)
            yield Sweep(defense, option, found, tuple(map(_shown, values)))


def _value(contender: Contender, option: str) -> Any:
    """The option's value; its default where the contender does not name it, None if unknown."""
    noisy = contender.relations.startswith(NOISE)
    if option == NOISY:
        rate = contender.relations.removeprefix(NOISE)
        return float(rate or 0.0) if noisy or not rate else None
    if option == SCORER:
        return None if noisy else contender.relations or OWN
    defense = DEFENSES.get(contender.defense)
    known = {field.name: field.default for field in fields(defense)} if defense else {}  # type: ignore[arg-type]
    value = (known | dict(contender.options)).get(option)
    return None if value is MISSING else value


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else plain(value)


def sweep_plots(sweep: Sweep, scoreboard: Scoreboard) -> Iterator[Markup]:
    """Accuracy and attack success along the option, one line per condition."""
    count = len(scoreboard.conditions)
    names = {float(place): value for place, value in enumerate(sweep.values)}
    x = Axis(-0.4, len(names) - 0.6, sweep.option, names)
    for title, quantity in (("accuracy", "accuracy"), ("attack success", "attack_success")):
        lines = []
        for number, condition in enumerate(scoreboard.conditions):
            spots = []
            for place, contender in enumerate(sweep.contenders):
                rate = measured(getattr(scoreboard.cell(contender.name, condition), quantity))
                if rate is not None:
                    words = f"{condition}, {sweep.option} {sweep.values[place]}: {rate}"
                    spots.append(Spot(place + (number - count / 2) * ASIDE, rate, words=words))
            lines.append((Series(condition, number), spots))
        y = tenths([spot.y.ends for _, spots in lines for spot in spots])
        yield panel(f"{sweep.defense}: {title} by {sweep.option}", lines, x, y, joined=True)
