"""Plots of a study of defences: before and after, accuracy against attack success and cost."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from markupsafe import Markup

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.ranking import Ranking
from radarstream.pipelines.evaluation.defences.records import DefencesRecord
from radarstream.pipelines.evaluation.defences.scoreboard import Estimate, MeanCost, Scoreboard
from radarstream.pipelines.pages.charts import bars, before_after, panel
from radarstream.pipelines.pages.defences.groups import UNDEFENDED, Group
from radarstream.pipelines.pages.scales import Axis, Change, Segment, Series, Share, Spot, tenths

STAGES: Final = ("atomic answers", "relations", "selection", "generation")
MOST_CHANGES = 8  # contenders in the opening plot
Lines = list[tuple[Series, list[Spot]]]


def opening(ranking: Ranking) -> tuple[Markup, ...]:
    """Accuracy and attack success of every contender, beside those without a defence."""
    covered = [one for one in ranking.contenders if one.covered and one.trade_off is not None]
    covered.sort(key=lambda one: -(one.trade_off or 0.0))
    bare = next((one for one in covered if one.contender == UNDEFENDED), None)
    shown = [one for one in covered if one is not bare][:MOST_CHANGES] or covered
    where = " under attack" if ranking.attacked else ""
    found = []
    for title, quantity, tone in (
        (f"Accuracy{where}", "accuracy", "correct"),
        ("Attack success", "attack_success", "fooled"),
    ):
        before = None if bare is None else share(getattr(bare, quantity))
        changes = [
            Change(one.contender, before, after, tone)
            for one in shown
            if (after := share(getattr(one, quantity))) is not None
        ]
        if changes and (quantity == "accuracy" or ranking.attacked):
            heading = f"{title}: undefended ○ and defended ●"
            found.append(before_after(heading, changes, ("undefended", "defended")))
    return tuple(found)


def share(estimate: Estimate) -> Share | None:
    """A rate with its interval for a chart; None where it was not measured."""
    value = estimate.value
    return None if value is None else Share(value, estimate.low, estimate.high)


def trade_offs(
    record: DefencesRecord, scoreboard: Scoreboard, ranking: Ranking, groups: Sequence[Group]
) -> Iterator[Markup]:
    """All attacked conditions together first, then each of them, on the same axes."""
    panels: list[tuple[str, Lines]] = []
    attacked = [c.name for c in record.conditions if c.attack != BENIGN]
    if len(attacked) > 1:
        for group in groups:
            pooled = [(one, ranking.of(one.name)) for one in group.series]
            rates = [(s, p.accuracy, p.attack_success) for s, p in pooled if p.covered]
            panels.append((group.heading("all attacks"), list(_points(rates))))
    for name in attacked:
        for group in groups:
            cells = [(one, scoreboard.cell(one.name, name)) for one in group.series]
            rates = [(s, cell.accuracy, cell.attack_success) for s, cell in cells]
            panels.append((group.heading(name), list(_points(rates))))
    spots = [spot for _, lines in panels for _, of_one in lines for spot in of_one]
    x = tenths([spot.x_ends or (0.0, 0.0) for spot in spots], "attack success")
    y = tenths([spot.y.ends for spot in spots], "accuracy")
    for name, lines in panels:
        if lines:
            yield panel(name, lines, x, y)


def _points(
    rates: Iterable[tuple[Series, Estimate, Estimate]],
) -> Iterator[tuple[Series, list[Spot]]]:
    for series, accuracy, attack in rates:
        right, fooled = share(accuracy), share(attack)
        if right is not None and fooled is not None:
            words = f"{series.name}: accuracy {right}, attack success {fooled}"
            yield series, [Spot(fooled.value, right, fooled.ends, words=words)]


def cost_stages(costs: Sequence[tuple[Series, MeanCost]]) -> Markup | None:
    """Where the seconds of an answer go, one bar per contender."""
    segments: list[Segment] = []
    totals: dict[str, str] = {}
    for series, cost in costs:
        seconds = (cost.atomic_seconds, cost.relation_seconds, cost.selection_seconds,
                   cost.generation_seconds)  # fmt: skip
        start = 0.0
        for number, (stage, spent) in enumerate(zip(STAGES, seconds, strict=True)):
            words = f"{stage}: {spent:.3g} s"
            segments.append(Segment(series.shown, start, start + spent, f"g{number}", words))
            start += spent
        totals[series.shown] = f"{start:.2f} s"
    if not segments:
        return None
    axis = Axis(0, max(segment.end for segment in segments) or 1.0)
    return bars("Seconds of an answer by stage", segments, axis, width=420, tails=totals)


def cost_plots(
    costs: Sequence[tuple[Series, MeanCost]], ranking: Ranking, groups: Sequence[Group]
) -> Iterator[Markup]:
    """Accuracy by what an answer costs, in calls and in seconds."""
    spent = {series.name: cost for series, cost in costs if ranking.of(series.name).covered}
    for unit, price in (("model calls an answer", "calls"), ("seconds an answer", "seconds")):
        for group in groups:
            lines: Lines = []
            for series in group.series:
                right = share(ranking.of(series.name).accuracy)
                if series.name in spent and right is not None:
                    cost = getattr(spent[series.name], price)
                    words = f"{series.name}: accuracy {right} at {cost:.1f} {unit}"
                    lines.append((series, [Spot(cost, right, words=words)]))
            if lines:
                most = max(spots[0].x for _, spots in lines) or 1.0
                y = tenths([spots[0].y.ends for _, spots in lines])
                heading = group.heading(f"Accuracy by {unit}")
                yield panel(heading, lines, Axis(0, most * 1.08, unit), y)
