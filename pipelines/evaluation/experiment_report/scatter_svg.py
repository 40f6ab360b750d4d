"""Accuracy against attack success, and accuracy against cost, with 95 % intervals as crosses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from radarstream.pipelines.evaluation.experiment.scoreboard import Estimate
from radarstream.pipelines.evaluation.experiment_report.panel_svg import (
    BOTTOM,
    LEFT,
    PLOT_WIDTH,
    TOP,
    Scale,
    Series,
    frame,
    gutter,
    label_room,
    marker,
    percent_axis,
    plot_height,
    round_step,
    tenths,
    tick_step,
    ticks,
)
from radarstream.pipelines.evaluation.report.svg import element, group, number


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One contender under one condition."""

    series: Series
    accuracy: Estimate
    attack_success: Estimate


@dataclass(frozen=True, slots=True)
class Priced:
    """One contender's accuracy under attack and what an answer costs it, in any unit."""

    series: Series
    accuracy: Estimate
    cost: float


@dataclass(frozen=True, slots=True)
class Window:
    """The part of both axes that every panel shows, shares in [0, 1]."""

    accuracy: tuple[float, float] = (0.0, 1.0)
    attack_success: tuple[float, float] = (0.0, 1.0)


def window_of(points: Sequence[TradeOff]) -> Window:
    """The smallest window in whole tenths that holds every interval."""
    return Window(
        tenths([(point.accuracy.low, point.accuracy.high) for point in points]),
        tenths([(point.attack_success.low, point.attack_success.high) for point in points]),
    )


def trade_off(title: str, points: Sequence[TradeOff], window: Window) -> Markup:
    """One panel: attack success to the right, accuracy upwards; the upper left corner is best."""
    room = label_room(point.series for point in points)
    bottom = TOP + plot_height(len(points))
    right = LEFT + PLOT_WIDTH
    across = Scale(*window.attack_success, LEFT, right)
    up = Scale(*window.accuracy, bottom, TOP)
    places = [
        (p, across(p.attack_success.value or 0.0), up(p.accuracy.value or 0.0)) for p in points
    ]
    sizes = _sizes([(x, y) for _, x, y in places])
    return frame(
        title,
        "; ".join(_spoken(point) for point in points),
        *percent_axis(up, LEFT, right, tick_step(*window.accuracy)),
        *_across_axis(across, bottom),
        element("text", "↖ better", x=right, y=12, class_="better end"),
        *gutter([(p.series, x, y) for p, x, y in places], right, TOP + 4, bottom - 4),
        *(_cross(*place, across, up, size) for place, size in zip(places, sizes, strict=True)),
        width=right + room,
        height=bottom + BOTTOM,
        kind="trade-off",
    )


def _spoken(point: TradeOff) -> str:
    return (
        f"{point.series.name}: accuracy {_percent(point.accuracy)}, "
        f"attack success {_percent(point.attack_success)}"
    )


def _percent(rate: Estimate) -> str:
    if rate.value is None:
        return "not measured"
    return f"{rate.value:.0%} ({rate.low:.0%} to {rate.high:.0%}, n = {rate.trials})"


def _across_axis(across: Scale, bottom: float) -> Iterator[Markup]:
    for value in ticks(across.low, across.high, tick_step(across.low, across.high)):
        x = across(value)
        yield element("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid")
        yield element("text", f"{value:.0%}", x=x, y=bottom + 14, class_="tick middle")
    yield element("text", "attack success", x=across.end, y=bottom + 29, class_="axis-name end")


def _sizes(places: Sequence[tuple[float, float]]) -> list[float]:
    """Markers under others are larger, so that all of them show."""
    return [
        4.5 + 2.2 * min(3, sum(abs(x - a) + abs(y - b) < 2.5 for a, b in places[index + 1 :]))
        for index, (x, y) in enumerate(places)
    ]


def _cross(point: TradeOff, x: float, y: float, across: Scale, up: Scale, size: float) -> Markup:
    left, right = across(point.attack_success.low), across(point.attack_success.high)
    low, high = up(point.accuracy.low), up(point.accuracy.high)
    whiskers = (
        f"M{number(left)} {number(y)}H{number(right)}M{number(x)} {number(low)}V{number(high)}"
    )
    parts = [
        element("title", _spoken(point)),
        element("path", d=whiskers, class_="whisker"),
        marker(point.series, x, y, size),
    ]
    return group(parts, class_=f"series {point.series.colour}")


def accuracy_by_cost(title: str, points: Sequence[Priced], unit: str) -> Markup:
    """Cost of an answer to the right, accuracy upwards."""
    room = label_room(point.series for point in points)
    bottom = TOP + plot_height(len(points))
    right = LEFT + PLOT_WIDTH
    window = tenths([(point.accuracy.low, point.accuracy.high) for point in points])
    most = max((point.cost for point in points), default=0.0) or 1.0
    across = Scale(0.0, most * 1.08, LEFT, right)
    up = Scale(*window, bottom, TOP)
    places = [(p, across(p.cost), up(p.accuracy.value or 0.0)) for p in points]
    sizes = _sizes([(x, y) for _, x, y in places])
    step = round_step(most / 4)
    axis = [
        element("text", f"{value:g}", x=across(value), y=bottom + 14, class_="tick middle")
        for value in ticks(0.0, most * 1.08, step)
    ]
    return frame(
        title,
        "; ".join(
            f"{p.series.name}: accuracy {_percent(p.accuracy)} at {p.cost:.1f} {unit}"
            for p in points
        ),
        *percent_axis(up, LEFT, right, tick_step(*window)),
        *axis,
        element("text", unit, x=right, y=bottom + 29, class_="axis-name end"),
        *gutter([(p.series, x, y) for p, x, y in places], right, TOP + 4, bottom - 4),
        *(_bar(*place, up, size) for place, size in zip(places, sizes, strict=True)),
        width=right + room,
        height=bottom + BOTTOM,
        kind="priced",
    )


def _bar(point: Priced, x: float, y: float, up: Scale, size: float) -> Markup:
    low, high = up(point.accuracy.low), up(point.accuracy.high)
    parts = [
        element("title", f"{point.series.name}: {_percent(point.accuracy)}"),
        element("path", d=f"M{number(x)} {number(low)}V{number(high)}", class_="whisker"),
        marker(point.series, x, y, size),
    ]
    return group(parts, class_=f"series {point.series.colour}")
