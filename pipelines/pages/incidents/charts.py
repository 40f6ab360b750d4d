"""A chart of a wrong answer: the scores of its texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import pi

from markupsafe import Markup

from radarstream.pipelines.pages.drawing import Spec, drawn, ink, layer
from radarstream.pipelines.pages.scales import Axis

WIDTH, HEIGHT = 600, 130
RADIUS = 7.5
ROW = 2 * RADIUS + 1.5  # dots that would overlap stand on each other


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
