"""The charts that pages share: they lay out the numbers they are given and compute none."""

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from radarstream.lab.pages.drawing import Spec, drawn, ink, layer
from radarstream.lab.pages.scales import (
    PLOT_WIDTH,
    Axis,
    Change,
    Place,
    Series,
    Share,
    Spot,
    rows_of,
    tenths,
)
from radarstream.pipelines.pages.safe_text import shorten

PLOT_HEIGHT = 190
LABEL_GAP = 14.0  # between the lines of two labels
LEAD_WIDTH = 860  # of the chart that a page opens with
ASIDE: Final = 0.05  # of the distance between two places, so that intervals stay apart
LEADER = 16  # between the plot and its labels


def before_after(title: str, changes: Sequence[Change], words: tuple[str, str]) -> Markup | None:
    """A row per change: a hollow dot before, a full dot after, their intervals as lines.

    `words` name the two, such as undefended and defended. None without a change.
    """
    if not changes:
        return None
    dots: list[Spec] = [
        {"value": share.value, "low": share.ends[0], "high": share.ends[1],
         "fill": ink(change.tone if now else "surface"),
         "line": ink(change.tone if now else "soft"),
         "y": number + (0.78 if now else 0.58), "words": f"{change.name}, {words[now]}: {share}"}
        for number, change in enumerate(changes)
        for now, share in ((0, change.before), (1, change.after))
        if share is not None
    ]  # fmt: skip
    spans = [
        {"from": change.before.value, "to": change.after.value, "y": number + 0.68}
        for number, change in enumerate(changes)
        if change.before is not None
    ]
    names = [{"x": 0.0, "y": number + 0.2, "text": shorten(change.name, 60)}
             for number, change in enumerate(changes)]  # fmt: skip
    y = rows_of(len(changes))
    x = Axis(0, 1, percent=True).along("value")
    tip = {"description": "words"}
    return drawn(
        [
            layer("rule", dots, {"x": "low", "x2": "high", "y": y, "color": "line"} | tip,
                  strokeWidth=1.5, opacity=0.45),
            layer("rule", spans, {"x": "from", "x2": "to", "y": "y"}, color=ink("line"),
                  strokeWidth=5),
            layer("point", dots, {"x": x, "y": y, "fill": "fill", "stroke": "line"} | tip,
                  size=75, strokeWidth=1.8),
            layer("text", names, {"x": "x", "y": "y", "text": "text"}, align="left"),
        ],
        title,
        "; ".join(dot["words"] for dot in dots),
        "before-after",
        width=LEAD_WIDTH,
        height=46 * len(names),
        heading=title
    )  # fmt: skip


def panel(
    title: str,
    lines: Sequence[tuple[Series, Sequence[Spot]]],
    x: Axis,
    y: Axis,
    *,
    joined: bool = False,
) -> Markup:
    """Points, or curves where `joined`, with the names of the series at the right.

    Names never overlap.
    """
    lines = [(series, spots) for series, spots in lines if spots]
    height = max(PLOT_HEIGHT, round(len(lines) * LABEL_GAP))
    points = [
        {"who": series.name, "x": spot.x, "y": spot.y.value, "low": spot.y.ends[0],
         "high": spot.y.ends[1], "left": (spot.x_ends or (spot.x, spot.x))[0],
         "right": (spot.x_ends or (spot.x, spot.x))[1],
         "words": spot.words or f"{series.name}: {spot.y}", **series.marker}
        for series, spots in lines
        for spot in spots
    ]  # fmt: skip
    for number, point in enumerate(points):  # those below others are larger, so that all show
        above = [] if joined else points[number + 1 :]
        covered = sum(_meet(point, other, x, y) for other in above)
        point["size"] = (44 if joined else 66) + 70 * min(3, covered)
    at = {
        "x": x.along("x", grid=not joined, offset=6 if joined else 0),
        "y": y.along("y"),
        "description": "words",
    }
    look = {"fill": "fill", "stroke": "line", "shape": "shape"}
    return drawn(
        [
            *_labels(lines, x, y, height),
            layer("rule", points, at | {"y": "low", "y2": "high", "color": "line"},
                  strokeWidth=1.4, opacity=0.34),
            layer("rule", points, at | {"x": "left", "x2": "right", "color": "line"},
                  strokeWidth=1.4, opacity=0.34),
            layer("line", points if joined else [], {"x": "x", "y": "y", "color": "line",
                                                     "detail": "who"}, strokeWidth=1.8),
            layer("point", points, at | look | {"size": "size"}, strokeWidth=1.5),
        ],
        title,
        "; ".join(point["words"] for point in points),
        "curves" if joined else "scatter",
        width=PLOT_WIDTH,
        height=height,
        heading=title
    )  # fmt: skip


def _meet(a: Spec, b: Spec, x: Axis, y: Axis) -> bool:
    """Whether the marks of two points cover each other."""
    across, up = (x.high - x.low) / PLOT_WIDTH, (y.high - y.low) / PLOT_HEIGHT
    return bool(abs(a["x"] - b["x"]) < 3 * across and abs(a["y"] - b["y"]) < 3 * up)


def _labels(
    lines: Sequence[tuple[Series, Sequence[Spot]]], x: Axis, y: Axis, height: float
) -> list[Spec]:
    """The names of the series with their marks at the right of the plot, in the order in which
    their last points are, from the top.
    """
    across, up = (x.high - x.low) / PLOT_WIDTH, (y.high - y.low) / height
    order = sorted(lines, key=lambda line: -line[1][-1].y.value)
    rows = [
        {"x": x.high + LEADER * across, "at": x.high + (LEADER + 9) * across,
         "y": y.high - (4.0 + place * LABEL_GAP) * up, "label": series.shown, **series.marker}
        for place, (series, _) in enumerate(order)
    ]  # fmt: skip
    look = {"fill": "fill", "stroke": "line", "shape": "shape"}
    return [
        layer("point", rows, {"x": "x", "y": "y"} | look, size=50, strokeWidth=1.5),
        layer("text", rows, {"x": "at", "y": "y", "text": "label", "color": "line"},
              align="left", fontWeight=500),
    ]  # fmt: skip


def curves(
    title: str,
    places: Sequence[int],
    lines: Sequence[tuple[str, Sequence[tuple[int, Share | None]]]],
    along: str = "",
) -> Iterator[Markup]:
    """A line for each contender over whole numbers; nothing without a point."""
    drawn = [
        (
            Series(name, number),
            [
                Spot(at + ASIDE * (number - len(lines) / 2), y, words=f"{name}, {at}: {y}")
                for at, y in spots
                if y is not None
            ],
        )
        for number, (name, spots) in enumerate(lines)
    ]
    ends = [spot.y.ends for _, spots in drawn for spot in spots]
    if ends:
        names = {float(at): str(at) for at in places}
        x = Axis(places[0] - 0.4, places[-1] + 0.4, along, names)
        yield panel(title, drawn, x, tenths(ends), joined=True)


def scatter(title: str, places: Sequence[Place], x: Axis, y_title: str) -> Iterator[Markup]:
    """One quantity against another, a point per contender; nothing without one."""
    if places:
        y = tenths([place.y.ends for place in places], y_title)
        lines = [
            (Series(p.name, p.number), [Spot(p.x.value, p.y, p.x.ends, words=p.words)])
            for p in places
        ]
        yield panel(title, lines, x, y)
