"""How much an attacker must do before a defence breaks: curves, a table and a sentence each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from radarstream.pipelines.evaluation.attacks.escalation import Effort
from radarstream.pipelines.evaluation.defences.breaking_tables import (
    breaking_tables,
    sentences,
    title_of,
)
from radarstream.pipelines.evaluation.defences.scoreboard import Curve, Escalated, Scoreboard
from radarstream.pipelines.evaluation.table import Table
from radarstream.pipelines.pages.charts import panel
from radarstream.pipelines.pages.defences.plots import Group, measured
from radarstream.pipelines.pages.scales import Axis, Series, Spot, tenths

ASIDE = 0.7  # of the way to the next amount, shared by the contenders so that intervals stay apart
NOUNS = {
    Effort.OWN_SITES: "documents, each on its own site",
    Effort.ONE_SITE: "documents, all on one site",
    Effort.STEPS: "attacked steps in a row",
}
RATES = {"Attack success": "attack_success", "Accuracy": "accuracy"}


@dataclass(frozen=True, slots=True)
class BreakingView:
    """One escalation as the page shows it."""

    title: str
    sentences: tuple[str, ...]
    plots: tuple[Markup, ...]
    table: Table


def breaking_views(scoreboard: Scoreboard, groups: Sequence[Group]) -> Iterator[BreakingView]:
    """Every escalation of the scoreboard, in its order."""
    tables = breaking_tables(scoreboard)
    for found, table in zip(scoreboard.escalations, tables, strict=True):
        plots = tuple(plot for group in groups for plot in _plots(found, group))
        yield BreakingView(title_of(found), tuple(sentences(found)), plots, table)


def _plots(found: Escalated, group: Group) -> Iterator[Markup]:
    """Attack success and accuracy by the amount, one line per contender of the group."""
    curves = {curve.contender: curve for curve in found.curves}
    series = [one for one in group.series if one.name in curves]
    amounts = sorted({p.amount for curve in found.curves for p in curve.points})
    names = {float(amount): str(amount) for amount in amounts}
    x = Axis(amounts[0] - 0.4, amounts[-1] + 0.4, NOUNS[found.effort], names)
    for title, quantity in RATES.items():
        step = ASIDE / len(series)
        lines = [
            (one, list(_spots(curves[one.name], quantity, step * (number - len(series) / 2))))
            for number, one in enumerate(series)
        ]
        if any(spots for _, spots in lines):
            y = tenths([spot.y.ends for _, spots in lines for spot in spots])
            yield panel(group.heading(title), _shown(lines), x, y, joined=True)


def _shown(lines: Sequence[tuple[Series, list[Spot]]]) -> list[tuple[Series, list[Spot]]]:
    return [(series, spots) for series, spots in lines if spots]


def _spots(curve: Curve, quantity: str, aside: float) -> Iterator[Spot]:
    for point in curve.points:
        rate = measured(getattr(point, quantity))
        if rate is not None:
            words = f"{curve.contender}, {point.amount}: {rate}"
            yield Spot(point.amount + aside, rate, words=words)
