"""Shares along an axis of steps or of an option's values: one line per contender or condition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

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
    tenths,
    tick_step,
)
from radarstream.pipelines.evaluation.report.safe_text import shorten
from radarstream.pipelines.evaluation.report.svg import element, group, number

MOST_LABELS = 7  # along the axis
ASIDE = 4.0  # pixels between the whiskers of two lines at one place


@dataclass(frozen=True, slots=True)
class Spot:
    """A share in [0, 1] at a place of the axis, with its interval where it has one."""

    place: int
    value: float
    interval: tuple[float, float] | None = None
    before: float | None = None  # a prior, drawn hollow


@dataclass(frozen=True, slots=True)
class Curve:
    """A series along the axis; a place without a measurement has no spot."""

    series: Series
    spots: tuple[Spot, ...]


def curves(
    title: str,
    lines: Sequence[Curve],
    places: Sequence[str],
    *,
    axis_name: str = "",
    marked: frozenset[int] = frozenset(),
    whiskers: bool = False,
) -> Markup:
    """One panel. `places` name the axis; `marked` are the places that were attacked."""
    lines = [line for line in lines if line.spots]
    room = label_room(line.series for line in lines)
    bottom = TOP + plot_height(len(lines))
    right = LEFT + PLOT_WIDTH
    up = Scale(*_range(lines, whiskers=whiskers), bottom, TOP)
    across = Scale(0, max(1, len(places) - 1), LEFT + 14, right - 14)
    asides = [ASIDE * (n - (len(lines) - 1) / 2) * whiskers for n in range(len(lines))]
    ends = [
        (line.series, across(line.spots[-1].place) + aside, up(line.spots[-1].value))
        for line, aside in zip(lines, asides, strict=True)
    ]
    return frame(
        title,
        "; ".join(_spoken(line, places) for line in lines),
        *_bands(marked, across, bottom),
        *percent_axis(up, LEFT, right, tick_step(up.low, up.high)),
        *_axis(places, across, bottom, axis_name),
        *gutter(ends, right, TOP + 4, bottom - 4),
        *(
            _line(line, across, up, aside=aside, whiskers=whiskers)
            for line, aside in zip(lines, asides, strict=True)
        ),
        width=right + room,
        height=bottom + BOTTOM,
        kind="curves",
    )


def _range(lines: Sequence[Curve], *, whiskers: bool) -> tuple[float, float]:
    """Shares that every spot lies in, in whole tenths."""
    spots = [spot for line in lines for spot in line.spots]
    seen = [(spot.value, spot.value) for spot in spots]
    seen += [(spot.before, spot.before) for spot in spots if spot.before is not None]
    if whiskers:
        seen += [spot.interval for spot in spots if spot.interval]
    return tenths(seen)


def _spoken(line: Curve, places: Sequence[str]) -> str:
    values = ", ".join(f"{places[spot.place]} {spot.value:.0%}" for spot in line.spots)
    return f"{line.series.name}: {values}"


def _bands(marked: frozenset[int], across: Scale, bottom: float) -> Iterator[Markup]:
    half = max(5.0, min(16.0, (across(1) - across(0)) / 2 - 1))
    for place in sorted(marked):
        x = across(place) - half
        yield element("rect", x=x, y=TOP, width=2 * half, height=bottom - TOP, class_="attack-band")


def _axis(places: Sequence[str], across: Scale, bottom: float, name: str) -> Iterator[Markup]:
    widest = max((len(place) for place in places), default=1) * 6.0 + 8
    fitting = max(2, min(MOST_LABELS, int((across.end - across.start) / widest) + 1))
    every = max(1, -(-len(places) // fitting))
    for index, place in enumerate(places):
        if index % every == 0:
            yield element(
                "text", shorten(place, 12), x=across(index), y=bottom + 14, class_="tick middle"
            )
    if name:
        yield element(
            "text", shorten(name, 40), x=across.end, y=bottom + 29, class_="axis-name end"
        )


def _line(line: Curve, across: Scale, up: Scale, *, aside: float, whiskers: bool) -> Markup:
    """`aside` keeps the whiskers of several lines from covering each other."""
    at = [(spot, across(spot.place) + aside, up(spot.value)) for spot in line.spots]
    points = " ".join(f"{number(x)},{number(y)}" for _, x, y in at)
    parts = [element("title", line.series.name), element("polyline", points=points, class_="line")]
    for spot, x, y in at:
        if whiskers and spot.interval:
            low, high = (up(bound) for bound in spot.interval)
            path = f"M{number(x)} {number(low)}V{number(high)}"
            parts.append(element("path", d=path, class_="whisker"))
        if spot.before is not None:
            parts.append(element("circle", cx=x, cy=up(spot.before), r=3.0, class_="prior"))
        parts.append(marker(line.series, x, y, 3.6))
    return group(parts, class_=f"series {line.series.colour}")
