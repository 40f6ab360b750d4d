"""What charts are given: series, shares, places, and the axes they lie on."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, Final

from radarstream.lab.pages.drawing import Spec, ink
from radarstream.lab.study.rates import Rate
from radarstream.pipelines.pages.safe_text import shorten

PLOT_WIDTH = 200
MAX_LABEL, MAX_NAME, MAX_TITLE = 31, 14, 40  # letters of a series, a place, an axis
COLOURS: Final = 7  # besides grey
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


@dataclass(frozen=True, slots=True)
class Series:
    """A line or point of a plot. `number` picks its colour, 0 being grey."""

    name: str
    number: int

    @property
    def shown(self) -> str:
        """What the plot calls it, not too long."""
        return shorten(self.name, MAX_LABEL)

    @property
    def colour(self) -> str:
        """Name of its colour in the stylesheet, also a style class."""
        return "s0" if self.number == 0 else f"s{(self.number - 1) % COLOURS + 1}"

    @property
    def marker(self) -> Spec:
        """Colour and shape of its points; hollow for a second round of colours."""
        colour = ink(self.colour)
        full = self.number <= COLOURS
        shape = SHAPES[self.number % len(SHAPES)]
        return {"line": colour, "fill": colour if full else ink("surface"), "shape": shape}


@dataclass(frozen=True, slots=True)
class Share:
    """A share in [0, 1] with its interval, if it has one, and in words."""

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
class Change:
    """A row of a plot of before and after. `tone` colours what came after."""

    name: str
    before: Share | None
    after: Share
    tone: str


@dataclass(frozen=True, slots=True)
class Spot:
    """A point at (x, y) with its intervals."""

    x: float
    y: Share
    x_ends: tuple[float, float] | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a contender is in a plot of two quantities; `number` decides its colour."""

    name: str
    number: int
    x: Share
    y: Share
    words: str


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis spans and says. `names` stand at their places instead of numbers."""

    low: float
    high: float
    title: str = ""
    names: Mapping[float, str] | None = None
    percent: bool = False

    def along(self, field: str, *, grid: bool = True, width: int = PLOT_WIDTH, **more: Any) -> Spec:
        """The channel of a field along this axis, which is so many pixels long."""
        if self.names is not None:
            shown = {place: shorten(name, MAX_NAME) for place, name in self.names.items()}
            names = thinned(shown, width)
            # The names enter the expression as a literal, never as code.
            places, words = json.dumps(list(names)), json.dumps(list(names.values()))
            expression = f"{words}[indexof({places}, datum.value)]"
            more |= {"values": list(names), "labelExpr": expression}
        else:
            more = {"tickCount": 5} | ({"format": ".0%"} if self.percent else {}) | more
        scale = {"domain": [self.low, self.high], "nice": False, "zero": False}
        axis = {"title": shorten(self.title, MAX_TITLE) or None, "grid": grid} | more
        return {"field": field, "scale": scale, "axis": axis}


def rows_of(count: int) -> Spec:
    """The channel of rows, from 0 downwards; their names are marks of their own."""
    axis = {"title": None, "labels": False, "grid": False}
    return {"field": "y", "scale": {"domain": [count, 0], "nice": False}, "axis": axis}


def thinned(names: Mapping[float, str], width: int = PLOT_WIDTH) -> dict[float, str]:
    """The names of an axis of so many pixels, without those that would meet others."""
    widest = 6.5 * max(map(len, names.values()), default=0) + 6
    every = max(1, ceil(len(names) * widest / width))
    return {place: name for n, (place, name) in enumerate(names.items()) if n % every == 0}


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


def from_zero(places: Iterable[Place], title: str) -> Axis:
    """An axis of a quantity that starts at 0."""
    return Axis(0.0, max(1.1 * max((p.x.value for p in places), default=0.0), 0.01), title)
