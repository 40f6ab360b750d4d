"""The charts that pages share: they lay out the numbers they are given and compute none."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Final

from markupsafe import Markup

from radarstream.lab.pages.drawing import Spec, drawn, ink, layer
from radarstream.lab.study.rates import Rate
from radarstream.pipelines.pages.safe_text import shorten

PLOT_WIDTH, PLOT_HEIGHT = 200, 190
LABEL_GAP = 14.0  # between the lines of two labels
LEAD_WIDTH = 860  # of the chart that a page opens with
ASIDE: Final = 0.05  # of the distance between two places, so that intervals stay apart
LEADER = 16  # between the plot and its labels
MAX_LABEL, MAX_TITLE = 31, 40  # letters of a name, of an axis
COLOURS: Final = 7  # besides grey
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
LOOK: Final = {"fill": "fill", "stroke": "line", "shape": "shape"}


@dataclass(frozen=True, slots=True)
class Share:
    """A share in [0, 1], or another quantity, with its interval, if it has one, and in words."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The interval; the value alone where there is none."""
        return (self.value if self.low is None else self.low,
                self.value if self.high is None else self.high)  # fmt: skip

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.0%}"
        return f"{self.value:.0%} ({self.low:.0%} to {self.high:.0%})"


def measured(rate: Rate) -> Share | None:
    """A rate with its interval; None where it was not measured."""
    return None if rate.value is None else Share(rate.value, *rate.interval)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a contender is in a plot of two quantities; `number` decides its colour and shape, 0
    being grey.
    """

    name: str
    number: int
    x: Share
    y: Share
    words: str

    @property
    def marker(self) -> Spec:
        """Colour and shape; hollow for a second round of colours."""
        colour = ink(f"s{(self.number - 1) % COLOURS + 1}" if self.number else "s0")
        full = self.number <= COLOURS
        shape = SHAPES[self.number % len(SHAPES)]
        return {"line": colour, "fill": colour if full else ink("surface"), "shape": shape}


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis spans and says; `whole` numbers stand at their places."""

    low: float
    high: float
    title: str = ""
    whole: tuple[int, ...] = ()
    percent: bool = False

    def along(self, field: str, **more: Any) -> Spec:
        """The channel of a field along this axis."""
        ticks: Spec = {"tickCount": 5, "labelOverlap": True}
        if self.percent:
            ticks["format"] = ".0%"
        if self.whole:
            ticks |= {"values": self.whole, "format": "d"}
        scale = {"domain": [self.low, self.high], "nice": False, "zero": False}
        axis = {"title": shorten(self.title, MAX_TITLE) or None, **ticks, **more}
        return {"field": field, "scale": scale, "axis": axis}


def tenths(intervals: Iterable[tuple[float, float]], title: str = "") -> Axis:
    """The shortest axis of shares in whole tenths, at least two of them, that holds all.

    >>> axis = tenths([(0.31, 0.55), (0.4, 0.6)])
    >>> axis.low, axis.high
    (0.3, 0.6)
    """
    found = list(intervals)
    low = min(8, floor(10 * min((low for low, _ in found), default=0.0) + 1e-9))
    high = ceil(10 * max((high for _, high in found), default=1.0) - 1e-9)
    return Axis(low / 10, min(10, max(high, low + 2)) / 10, title, percent=True)


def before_after(
    title: str, changes: Sequence[tuple[str, Share | None, Share]], words: tuple[str, str]
) -> Markup | None:
    """A row per change of a name: a hollow dot before, a full dot after, their intervals as lines.
    `words` name the two, such as undefended and defended. None without a change.
    """
    if not changes:
        return None
    after = ink("fooled")
    dots: list[Spec] = [
        {"value": share.value, "low": share.ends[0], "high": share.ends[1],
         "fill": after if now else ink("surface"), "line": after if now else ink("soft"),
         "y": number + (0.78 if now else 0.58), "words": f"{name}, {words[now]}: {share}"}
        for number, (name, *sides) in enumerate(changes)
        for now, share in enumerate(sides)
        if share is not None
    ]  # fmt: skip
    spans = [{"from": before.value, "to": then.value, "y": number + 0.68}
             for number, (_, before, then) in enumerate(changes) if before is not None]  # fmt: skip
    names = [{"x": 0.0, "y": number + 0.2, "text": shorten(name, 60)}
             for number, (name, *_) in enumerate(changes)]  # fmt: skip
    y = {"field": "y", "scale": {"domain": [len(changes), 0], "nice": False},
         "axis": {"title": None, "labels": False, "grid": False}}  # fmt: skip
    x = Axis(0, 1, percent=True).along("value", grid=True)
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


def panel(title: str, places: Sequence[Place], x: Axis, y: Axis, *, joined: bool = False) -> Markup:
    """Points, or curves of each name where `joined`, with the names at the right of the plot, in
    the order in which their last points are, from the top; they never overlap.
    """
    last = {place.name: place for place in places}
    height = max(PLOT_HEIGHT, round(len(last) * LABEL_GAP))
    across, up = (x.high - x.low) / PLOT_WIDTH, (y.high - y.low) / height
    points = [
        {"who": p.name, "x": p.x.value, "y": p.y.value, "low": p.y.ends[0], "high": p.y.ends[1],
         "left": p.x.ends[0], "right": p.x.ends[1], "words": p.words, **p.marker}
        for p in places
    ]  # fmt: skip
    for number, point in enumerate(points):  # those below others are larger, so that all show
        covered = sum(
            abs(point["x"] - other["x"]) < 3 * across and abs(point["y"] - other["y"]) < 3 * up
            for other in ([] if joined else points[number + 1 :])
        )
        point["size"] = (44 if joined else 66) + 70 * min(3, covered)
    labels = [
        {"x": x.high + LEADER * across, "at": x.high + (LEADER + 9) * across,
         "y": y.high - (4.0 + row * LABEL_GAP) * up, "label": shorten(place.name, MAX_LABEL),
         **place.marker}
        for row, place in enumerate(sorted(last.values(), key=lambda place: -place.y.value))
    ]  # fmt: skip
    at = {
        "x": x.along("x", grid=not joined, offset=6 if joined else 0),
        "y": y.along("y", grid=True),
        "description": "words",
    }
    thin = {"strokeWidth": 1.4, "opacity": 0.34}
    line = {"x": "x", "y": "y", "color": "line", "detail": "who"}
    named = {"x": "at", "y": "y", "text": "label", "color": "line"}
    return drawn(
        [
            layer("point", labels, {"x": "x", "y": "y"} | LOOK, size=50, strokeWidth=1.5),
            layer("text", labels, named, align="left", fontWeight=500),
            layer("rule", points, at | {"y": "low", "y2": "high", "color": "line"}, **thin),
            layer("rule", points, at | {"x": "left", "x2": "right", "color": "line"}, **thin),
            layer("line", points if joined else [], line, strokeWidth=1.8),
            layer("point", points, at | LOOK | {"size": "size"}, strokeWidth=1.5),
        ],
        title,
        "; ".join(point["words"] for point in points),
        "curves" if joined else "scatter",
        width=PLOT_WIDTH,
        height=height,
        heading=title,
    )


def curves(
    title: str, lines: Sequence[tuple[str, Sequence[tuple[int, Share | None]]]], along: str = ""
) -> Iterator[Markup]:
    """A line for each contender over whole numbers; nothing without a point."""
    aside = min(ASIDE, 0.5 / max(1, len(lines)))
    places = [
        Place(name, number, Share(at + aside * (number - len(lines) / 2)), y, f"{name}, {at}: {y}")
        for number, (name, spots) in enumerate(lines)
        for at, y in spots
        if y is not None
    ]
    if places:
        whole = tuple(sorted({at for _, spots in lines for at, _ in spots}))
        x = Axis(whole[0] - 0.4, whole[-1] + 0.4, along, whole)
        yield panel(title, places, x, tenths(p.y.ends for p in places), joined=True)


def scatter(title: str, places: Sequence[Place], x: Axis, y_title: str) -> Iterator[Markup]:
    """One quantity against another, a point per contender; nothing without one."""
    if places:
        yield panel(title, places, x, tenths([place.y.ends for place in places], y_title))
