"""Plots of a study of defences: before and after, accuracy against attack success and cost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.ranking import Pooled, Ranking
from radarstream.pipelines.evaluation.defences.records import Adaptation, Contender, DefencesRecord
from radarstream.pipelines.evaluation.defences.scoreboard import (
    Estimate,
    Scoreboard,
    Selective,
    Summary,
)
from radarstream.pipelines.pages.charts import bars, before_after, panel
from radarstream.pipelines.pages.scales import (
    Axis,
    Change,
    Segment,
    Series,
    Share,
    Spot,
    share,
    tenths,
)

MOST = 10  # contenders in one panel, before panels are split
MOST_CONDITIONS = 12  # that have a panel of their own
MOST_CHANGES = 8  # contenders in the opening plot
UNDEFENDED = "vanilla"
STAGES: Final = {  # of an answer, and where their seconds are
    "atomic answers": "atomic_seconds",
    "relations": "relation_seconds",
    "selection": "selection_seconds",
    "generation": "generation_seconds",
}

Spent = tuple[Series, Mapping[str, float | None]]  # and the mean cost of an answer by column


@dataclass(frozen=True, slots=True)
class Group:
    """Contenders that share a panel; `title` is empty where all of them do."""

    title: str
    series: tuple[Series, ...]

    def heading(self, title: str) -> str:
        """Title of a panel of this group."""
        return f"{title}, {self.title}" if self.title else title


def series_of(record: DefencesRecord) -> list[Series]:
    """Contenders of one defence share a colour; grey is the undefended generator, or else the
    reference.
    """
    defenses = list(dict.fromkeys(contender.defense for contender in record.contenders))
    reference = next((c.defense for c in record.contenders if c.name == record.reference), "")
    grey = UNDEFENDED if UNDEFENDED in defenses else reference
    colours = [grey, *(defense for defense in defenses if defense != grey)]
    seen: dict[str, int] = {}
    series = []
    for contender in record.contenders:
        variant = seen[contender.defense] = seen.get(contender.defense, -1) + 1
        series.append(Series(contender.name, colours.index(contender.defense), variant))
    return series


def groups_of(record: DefencesRecord, series: Sequence[Series]) -> list[Group]:
    """One group, or, where contenders are many, one per adaptation to time and one of variants.

    Every group of several has the reference to compare with.
    """
    if len(series) <= MOST:
        return [Group("", tuple(series))]
    titles = [_title(contender) for contender in record.contenders]
    return [
        Group(
            title,
            tuple(
                replace(one, label=one.name.removesuffix(f"+{title}"))
                for one, own in zip(series, titles, strict=True)
                if own == title or one.name == record.reference
            ),
        )
        for title in dict.fromkeys(titles)
    ]


def _title(contender: Contender) -> str:
    if (contender.options and not contender.alias) or contender.relations:
        return "variants"
    alone = contender.adaptation in (Adaptation.OWN, Adaptation.NONE)
    return "alone" if alone else str(contender.adaptation)


def measured(estimate: Estimate) -> Share | None:
    """A rate with its interval for a chart; None where it was not measured."""
    return share(estimate.value, estimate.low, estimate.high)


def opening(ranking: Ranking) -> Iterator[Markup]:
    """Accuracy and attack success of every contender, beside those without a defence."""
    covered = [one for one in ranking.contenders if one.covered and one.trade_off is not None]
    covered.sort(key=lambda one: -(one.trade_off or 0.0))
    bare = next((one for one in covered if one.contender == UNDEFENDED), None)
    shown = [one for one in covered if one is not bare][:MOST_CHANGES] or covered
    kinds = [("Accuracy", "accuracy", "correct")]
    if ranking.attacked:
        kinds = [("Accuracy under attack", "accuracy", "correct"),
                 ("Attack success", "attack_success", "fooled")]  # fmt: skip
    for title, quantity, tone in kinds:
        before = None if bare is None else measured(getattr(bare, quantity))
        changes = [
            Change(one.contender, before, after, tone)
            for one in shown
            if (after := measured(getattr(one, quantity))) is not None
        ]
        heading = f"{title}: undefended ○ and defended ●"
        plot = before_after(heading, changes, ("undefended", "defended"), width=400)
        yield plot or Markup("")


def trade_offs(
    record: DefencesRecord, scoreboard: Scoreboard, ranking: Ranking, groups: Sequence[Group]
) -> Iterator[Markup]:
    """All attacked conditions together first, then, if they are few, each of them, on the same
    axes.
    """
    attacked = [c.name for c in record.conditions if c.attack != BENIGN]
    found: list[tuple[str, list[tuple[Series, Pooled | Summary]]]] = []
    if len(attacked) > 1:
        for group in groups:
            pooled = [(one, ranking.of(one.name)) for one in group.series]
            found.append(
                (
                    group.heading("all attacks"),
                    [(one, held) for one, held in pooled if held.covered],
                )
            )
    for name in attacked if len(attacked) <= MOST_CONDITIONS else ():
        for group in groups:
            cells = [(one, scoreboard.cell(one.name, name)) for one in group.series]
            found.append((group.heading(name), [*cells]))
    panels = [(name, list(_points(held))) for name, held in found]
    spots = [spot for _, lines in panels for _, of_one in lines for spot in of_one]
    x = tenths([spot.x_ends or (0.0, 0.0) for spot in spots], "attack success")
    y = tenths([spot.y.ends for spot in spots], "accuracy")
    for name, lines in panels:
        if lines:
            yield panel(name, lines, x, y)


def _points(
    held: Sequence[tuple[Series, Pooled | Summary]],
) -> Iterator[tuple[Series, list[Spot]]]:
    for series, rates in held:
        right, fooled = measured(rates.accuracy), measured(rates.attack_success)
        if right is not None and fooled is not None:
            words = f"{series.name}: accuracy {right}, attack success {fooled}"
            yield series, [Spot(fooled.value, right, fooled.ends, words=words)]


def coverage_curves(
    scoreboard: Scoreboard, ranking: Ranking, groups: Sequence[Group]
) -> Iterator[Markup]:
    """Accuracy by coverage: a panel per family of conditions, on the same axes."""
    families = dict.fromkeys(one.family for one in scoreboard.selective)
    x = Axis(0.0, 1.0, "coverage", percent=True)
    spots = [point.accuracy for one in scoreboard.selective for point in one.curve]
    y = tenths([(accuracy, accuracy) for accuracy in spots], "accuracy")
    for family in families:
        curves = {one.contender: one for one in scoreboard.selective if one.family == family}
        for group in groups:
            lines = [
                (series, _curve(curves[series.name]))
                for series in group.series
                if series.name in curves and ranking.of(series.name).covered
            ]
            if any(held for _, held in lines):
                yield panel(group.heading(family), lines, x, y, joined=True)


def _curve(one: Selective) -> list[Spot]:
    """Every second point, counted from the last."""
    return [
        Spot(point.coverage, Share(point.accuracy),
             words=f"{one.contender}: accuracy {point.accuracy:.0%} and attack success "
             f"{point.attack_success:.0%} at {point.coverage:.0%} coverage")
        for point in one.curve[::-2][::-1]
    ]  # fmt: skip


def cost_stages(costs: Sequence[Spent]) -> Markup | None:
    """Where the seconds of an answer go, one bar per contender."""
    segments: list[Segment] = []
    totals: dict[str, str] = {}
    for series, cost in costs:
        start = 0.0
        for number, (stage, field) in enumerate(STAGES.items()):
            spent = cost[field] or 0.0
            words = f"{stage}: {spent:.3g} s"
            segments.append(Segment(series.shown, start, start + spent, f"g{number}", words))
            start += spent
        totals[series.shown] = f"{start:.2f} s"
    if not segments:
        return None
    axis = Axis(0, max(segment.end for segment in segments) or 1.0)
    return bars("Seconds of an answer by stage", segments, axis, width=420, tails=totals)


def cost_plots(
    costs: Sequence[Spent], ranking: Ranking, groups: Sequence[Group]
) -> Iterator[Markup]:
    """Accuracy by what an answer costs, in calls and in seconds."""
    spent = {series.name: cost for series, cost in costs if ranking.of(series.name).covered}
    for unit, price in (("model calls an answer", "calls"), ("seconds an answer", "seconds")):
        for group in groups:
            lines: list[tuple[Series, list[Spot]]] = []
            for series in group.series:
                right = measured(ranking.of(series.name).accuracy)
                if series.name in spent and right is not None:
                    cost = spent[series.name][price] or 0.0
                    words = f"{series.name}: accuracy {right} at {cost:.1f} {unit}"
                    lines.append((series, [Spot(cost, right, words=words)]))
            if lines:
                most = max(spots[0].x for _, spots in lines) or 1.0
                y = tenths([spots[0].y.ends for _, spots in lines])
                heading = group.heading(f"Accuracy by {unit}")
                yield panel(heading, lines, Axis(0, most * 1.08, unit), y)
