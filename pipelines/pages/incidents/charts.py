"""Two charts of wrong answers: the scores of their texts, and a source's reliability over time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi
from typing import Final

from markupsafe import Markup

from radarstream.connectors.state_table.sources.listing import SourceRecord
from radarstream.pipelines.pages.drawing import Spec, drawn, ink, layer
from radarstream.pipelines.pages.incidents.words import KINDS
from radarstream.pipelines.pages.scales import Axis
from radarstream.pipelines.pages.times import day
from radarstream.schemas.sources import NEUTRAL, EventKind

WIDTH, HEIGHT = 600, 130
RADIUS = 7.5
ROW = 2 * RADIUS + 1.5  # dots that would overlap stand on each other
DATES = 5
MARKS: Final = {  # shape, line, filling
    EventKind.CONFIRMED: ("diamond", "bad", "bad"),
    EventKind.DETECTED: ("diamond", "bad", "surface"),
    EventKind.AGREEMENT: ("stroke", "good", "good"),
    EventKind.RETRACTED: ("cross", "none", "none"),
}


@dataclass(frozen=True, slots=True)
class Dot:
    """A text by its combined score; `poison` where it is known to have been planted."""

    score: float
    rank: int
    flagged: bool
    poison: bool = False

    @property
    def words(self) -> str:
        """What it is, for a tooltip."""
        planted = ", planted" if self.poison else ""
        return (
            f"text {self.rank}: {self.score:.2f}, {'' if self.flagged else 'not '}flagged{planted}"
        )


def strip(dots: Sequence[Dot]) -> Markup:
    """The combined scores on one line, labelled with ranks, and the split between the groups."""
    low, high = min(dot.score for dot in dots), max(dot.score for dot in dots)
    room = (high - low or 1.0) * 2 * RADIUS / WIDTH
    x = Axis(low - room, high + room, "combined score")
    placed = list(stacked(dots, (x.high - x.low) / WIDTH))
    levels = 1 + max(level for _, level in placed)
    rows = [
        {"x": dot.score, "y": level + 0.5, "rank": str(dot.rank), "words": dot.words,
         "fill": ink("bad-bg" if dot.flagged else "none-bg"),
         "line": ink("bad" if dot.flagged else "none")}
        for dot, level in placed
    ]  # fmt: skip
    rings = [row for row, (dot, _) in zip(rows, placed, strict=True) if dot.poison]
    bare = {"title": None, "labels": False, "grid": False}
    at = {"x": x.along("x", grid=False, ticks=True, tickCount=8),
          "y": {"field": "y", "scale": {"domain": [0, levels]}, "axis": bare}}  # fmt: skip
    spoken = "; ".join(dot.words for dot in sorted(dots, key=lambda dot: -dot.score))
    return drawn(
        [
            *_split(dots, levels),
            layer("point", rows, at | {"fill": "fill", "stroke": "line", "description": "words"},
                  size=pi * RADIUS**2, strokeWidth=1.4),
            layer("point", rings, at, size=pi * (RADIUS - 1.6) ** 2, stroke=ink("attack"),
                  strokeDash=[1.5, 2]),
            layer("text", rows, at | {"text": "rank", "color": "line"}, fontWeight=600),
        ],
        "Combined scores",
        spoken,
        "strip-plot",
        width=WIDTH,
        height=levels * ROW,
    )  # fmt: skip


def split_of(dots: Sequence[Dot]) -> float | None:
    """Midway between the groups; None where there are not two, or a score belongs to both."""
    flagged = [dot.score for dot in dots if dot.flagged]
    others = [dot.score for dot in dots if not dot.flagged]
    if not flagged or not others or min(flagged) <= max(others):
        return None
    return (min(flagged) + max(others)) / 2


def stacked(dots: Sequence[Dot], unit: float) -> Iterator[tuple[Dot, int]]:
    """Every dot with the level at which it covers no other; `unit` is the score of a pixel."""
    ends: list[float] = []  # per level, the last place that is taken
    for dot in sorted(dots, key=lambda dot: dot.score):
        free = dot.score - (2 * RADIUS + 1) * unit
        level = next((n for n, end in enumerate(ends) if end <= free), len(ends))
        ends[level:] = [dot.score, *ends[level + 1 :]]
        yield dot, level


def _split(dots: Sequence[Dot], levels: int) -> list[Spec]:
    """The line between the groups with a word on either side."""
    split = split_of(dots)
    rows = [] if split is None else [{"x": split, "y": float(levels)}]
    beside = {"dy": -7, "baseline": "bottom"}
    return [
        layer("rule", rows, {"x": "x"}, color=ink("bad"), strokeWidth=1.5, strokeDash=[4, 3]),
        layer("text", rows, {"x": "x", "y": "y"}, text="not flagged", align="right", dx=-6,
              color=ink("soft"), **beside),
        layer("text", rows, {"x": "x", "y": "y"}, text="flagged", align="left", dx=6,
              color=ink("bad"), **beside),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Point:
    """The posterior at a time: mean and 95 % interval, each in (0, 1)."""

    at_ms: int
    mean: float
    low: float
    high: float


def reliability(
    points: Sequence[Point], records: Sequence[SourceRecord], start_ms: int, end_ms: int
) -> Markup:
    """Mean and interval over time, with the events below; the dashed line is an unknown source."""
    end_ms = max(end_ms, start_ms + 1)
    dates = [start_ms + (end_ms - start_ms) * n / (DATES - 1) for n in range(DATES)]
    x = Axis(start_ms, end_ms, names={at: day(int(at)) for at in dates})
    y = {"field": "low", "scale": {"domain": [-0.16, 1], "nice": False},
         "axis": {"title": None, "format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1]}}  # fmt: skip
    curve = [{"x": p.at_ms, "mean": p.mean, "low": p.low, "high": p.high} for p in points]
    events = [
        {"x": record.at_ms, "y": -0.1, "words": f"{day(record.at_ms)}: {KINDS[record.kind][0]}",
         "shape": shape, "line": ink(line), "fill": ink(fill)}
        for record in records
        for shape, line, fill in [MARKS[record.kind]]
    ]  # fmt: skip
    across = x.along("x", grid=False, width=WIDTH)
    look = {"shape": "shape", "fill": "fill", "stroke": "line", "description": "words"}
    return drawn(
        [
            layer("area", curve, {"x": across, "y": y, "y2": "high"}, color=ink("link"),
                  opacity=0.16),
            layer("rule", [{"y": NEUTRAL}], {"y": "y"}, color=ink("soft"), strokeDash=[2, 3],
                  opacity=0.8),
            layer("line", curve, {"x": "x", "y": "mean"}, color=ink("link"), strokeWidth=1.8),
            layer("point", events, {"x": "x", "y": "y"} | look, size=70, strokeWidth=1.5),
        ],
        "Reliability over time",
        _spoken(points),
        "reliability",
        width=WIDTH,
        height=HEIGHT,
    )  # fmt: skip


def _spoken(points: Sequence[Point]) -> str:
    if not points:
        return "Nothing is known."
    first, last = points[0], points[-1]
    least = min(points, key=lambda point: point.mean)
    return (
        f"{first.mean:.0%} on {day(first.at_ms)}, least {least.mean:.0%} on {day(least.at_ms)}, "
        f"{last.mean:.0%} ({last.low:.0%} to {last.high:.0%}) on {day(last.at_ms)}."
    )
