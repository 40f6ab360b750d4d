"""The combined scores of an event on one line: who is flagged, and where the cut lies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from radarstream.pipelines.evaluation.experiment_report.panel_svg import Scale, round_step, ticks
from radarstream.pipelines.evaluation.report.svg import element, group, number

WIDTH, LEFT, RIGHT = 640.0, 14.0, 14.0
RADIUS = 7.5
ROW = 2 * RADIUS + 1.5  # dots that would overlap stand on each other
TOP, AXIS = 26.0, 34.0
STEPS = 8  # ticks at most


@dataclass(frozen=True, slots=True)
class Dot:
    """A text by its combined score; `poison` where it is known to have been planted."""

    score: float
    rank: int
    flagged: bool
    poison: bool = False


def strip(dots: Sequence[Dot]) -> Markup:
    """The plot; dots are labelled with their ranks."""
    low, high = min(dot.score for dot in dots), max(dot.score for dot in dots)
    step = round_step(max((high - low) / STEPS, 1e-6))
    first, last = floor(low / step) * step, ceil(high / step) * step
    across = Scale(first, last if last > first else first + step, LEFT + RADIUS, WIDTH - RIGHT)
    placed = list(_stacked(dots, across))
    height = TOP + (1 + max(level for _, _, level in placed)) * ROW
    floor_y = height - RADIUS
    return element(
        "svg",
        element("title", "Combined scores"),
        element("desc", _spoken(dots)),
        *_axis(across, step, height),
        *_cut(dots, across, height),
        *(_dot(dot, x, floor_y - level * ROW) for dot, x, level in placed),
        class_="strip-plot",
        role="img",
        aria_label=f"Combined scores. {_spoken(dots)}",
        viewBox=f"0 0 {number(WIDTH)} {number(height + AXIS)}",
        width=number(WIDTH),
        height=number(height + AXIS),
    )


def cut_of(dots: Sequence[Dot]) -> float | None:
    """Midway between the groups; None where there are not two, or a score belongs to both."""
    flagged = [dot.score for dot in dots if dot.flagged]
    others = [dot.score for dot in dots if not dot.flagged]
    if not flagged or not others or min(flagged) <= max(others):
        return None
    return (min(flagged) + max(others)) / 2


def _stacked(dots: Sequence[Dot], across: Scale) -> Iterator[tuple[Dot, float, int]]:
    """Every dot with its place and the level at which it covers no other."""
    ends: list[float] = []  # per level, the last place that is taken
    for dot in sorted(dots, key=lambda dot: dot.score):
        x = across(dot.score)
        level = next((n for n, end in enumerate(ends) if x - end >= 2 * RADIUS + 1), len(ends))
        ends[level:] = [x, *ends[level + 1 :]]
        yield dot, x, level


def _dot(dot: Dot, x: float, y: float) -> Markup:
    kind = "dot flagged" if dot.flagged else "dot"
    parts = [
        element("title", _named(dot)),
        element("circle", cx=x, cy=y, r=RADIUS, class_="disc"),
        element("text", str(dot.rank), x=x, y=y + 3.4, class_="rank"),
    ]
    if dot.poison:
        parts.append(element("circle", cx=x, cy=y, r=RADIUS - 1.6, class_="planted"))
    return group(parts, class_=kind)


def _axis(across: Scale, step: float, height: float) -> Iterator[Markup]:
    decimals = max(0, -floor(log10(step) + 1e-9))
    yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=height + 3, y2=height + 3, class_="grid")
    for value in ticks(across.low, across.high, step):
        x = across(value)
        yield element("line", x1=x, x2=x, y1=height + 3, y2=height + 7, class_="grid")
        text = f"{value:.{decimals}f}".replace("-", "\u2212")
        yield element("text", text, x=x, y=height + 19, class_="tick middle")
    end = WIDTH - RIGHT
    yield element("text", "combined score", x=end, y=height + 32, class_="axis-name end")


def _cut(dots: Sequence[Dot], across: Scale, height: float) -> Iterator[Markup]:
    cut = cut_of(dots)
    if cut is None:
        return
    x = across(cut)
    yield element("line", x1=x, x2=x, y1=4, y2=height + 3, class_="cut-at")
    yield element("text", "not flagged", x=x - 6, y=13, class_="side end")
    yield element("text", "flagged", x=x + 6, y=13, class_="side bad")


def _named(dot: Dot) -> str:
    words = "flagged" if dot.flagged else "not flagged"
    planted = ", planted" if dot.poison else ""
    return f"text {dot.rank}: {dot.score:.2f}, {words}{planted}"


def _spoken(dots: Sequence[Dot]) -> str:
    return "; ".join(map(_named, sorted(dots, key=lambda dot: -dot.score)))
