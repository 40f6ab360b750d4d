"""What the plots share: scales, frames, markers, and labels in a gutter that never overlap."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, cos, floor, pi, sin

from markupsafe import Markup

from radarstream.pipelines.evaluation.report.safe_text import shorten
from radarstream.pipelines.evaluation.report.svg import element, group, number

LEFT, TOP, BOTTOM = 36.0, 26.0, 36.0
PLOT_WIDTH, PLOT_HEIGHT = 184.0, 190.0
LABEL_GAP = 14.0  # between the lines of two labels
LEADER = 18.0  # between the plot and its labels
LETTER = 7.2  # a letter of a label in a wide font, in pixels
TITLE_LETTER = 7.8
MAX_LABEL = 31  # letters
COLOURS, SHAPES = 7, 6  # besides grey


@dataclass(frozen=True, slots=True)
class Series:
    """A line or point of a plot. `number` picks its colour, 0 being grey; `variant` tells apart
    those of one colour by their markers. `label` is what the plot calls it, if not its name.
    """

    name: str
    number: int
    variant: int = 0
    label: str = ""

    @property
    def shown(self) -> str:
        """What the plot calls it, not too long."""
        return shorten(self.label or self.name, MAX_LABEL)

    @property
    def colour(self) -> str:
        """Style class that sets the colour."""
        return "s0" if self.number == 0 else f"s{(self.number - 1) % COLOURS + 1}"


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map of values in [low, high] to pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Pixel of a value; values outside sit on the edge."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def label_room(series: Iterable[Series]) -> float:
    """Width of a gutter for the labels of these series."""
    return LEADER + max((len(one.shown) for one in series), default=0) * LETTER + 4


def plot_height(labels: int) -> float:
    """Height of a plot whose gutter holds so many labels."""
    return max(PLOT_HEIGHT, labels * LABEL_GAP)


def frame(
    title: str, description: str, *parts: Markup, width: float, height: float, kind: str
) -> Markup:
    """A plot with its heading and, for whoever cannot see it, its description."""
    width = max(width, len(title) * TITLE_LETTER)
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        element("text", title, x=0, y=12, class_="plot-title"),
        *parts,
        class_=f"plot {kind}",
        role="img",
        aria_label=f"{title}. {description}",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=number(width),
        height=number(height),
    )


def percent_axis(scale: Scale, left: float, right: float, step: float) -> Iterator[Markup]:
    """Horizontal lines with percentages at their left."""
    for value in ticks(scale.low, scale.high, step):
        y = scale(value)
        yield element("line", x1=left, x2=right, y1=y, y2=y, class_="grid")
        yield element("text", f"{value:.0%}", x=left - 5, y=y + 3.5, class_="tick")


def ticks(low: float, high: float, step: float) -> list[float]:
    """Multiples of `step` in [low, high]."""
    first, last = round(low / step), round(high / step)
    return [n * step for n in range(first, last + 1) if low - 1e-9 <= n * step <= high + 1e-9]


def tenths(intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The smallest range in whole tenths, at least two of them, that holds every interval.

    >>> tenths([(0.31, 0.55), (0.4, 0.6)])
    (0.3, 0.6)
    """
    low = floor(10 * min((low for low, _ in intervals), default=0.0) + 1e-9)
    high = ceil(10 * max((high for _, high in intervals), default=1.0) - 1e-9)
    low = min(low, 8)
    return low / 10, min(10, max(high, low + 2)) / 10


def tick_step(low: float, high: float) -> float:
    """A round distance between ticks of shares."""
    return 0.25 if high - low > 0.8 else 0.2 if high - low > 0.5 else 0.1


def round_step(wanted: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below `wanted` (> 0).

    >>> round_step(2.7), round_step(0.03)
    (5.0, 0.05)
    """
    power = 1.0
    while power > wanted:
        power /= 10
    while power * 10 <= wanted:
        power *= 10
    return next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= wanted)


def spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Heights as near as possible to the wanted ones, `LABEL_GAP` apart, in their order.

    Neighbours that would overlap are pooled into a block centred on the mean of what they want.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[list[int]] = []
    starts: list[float] = []
    for index in order:
        blocks.append([index])
        starts.append(_start(blocks[-1], wanted, top, bottom))
        while len(blocks) > 1 and starts[-2] + len(blocks[-2]) * LABEL_GAP > starts[-1]:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
            starts[-2:] = [_start(blocks[-1], wanted, top, bottom)]
    placed = [0.0] * len(wanted)
    for block, start in zip(blocks, starts, strict=True):
        for place, index in enumerate(block):
            placed[index] = start + place * LABEL_GAP
    return placed


def _start(block: Sequence[int], wanted: Sequence[float], top: float, bottom: float) -> float:
    """Where a block's first label goes."""
    mean = sum(wanted[index] - place * LABEL_GAP for place, index in enumerate(block)) / len(block)
    return max(top, min(mean, bottom - (len(block) - 1) * LABEL_GAP))


def gutter(
    ends: Sequence[tuple[Series, float, float]], x: float, top: float, bottom: float
) -> list[Markup]:
    """Labels at x, each joined with its series' point (x, y)."""
    heights = spread([y for _, _, y in ends], top, bottom)
    parts = []
    for (series, from_x, from_y), y in zip(ends, heights, strict=True):
        path = f"M{number(from_x)} {number(from_y)}L{number(x + 4)} {number(y)}"
        path += f"H{number(x + LEADER - 4)}"
        label = element("text", series.shown, x=x + LEADER, y=y + 4, class_="label")
        parts.append(group([element("path", d=path, class_="leader"), label], class_=series.colour))
    return parts


def marker(series: Series, x: float, y: float, size: float = 4.5) -> Markup:
    """The series' shape; hollow for variants and for a second round of colours."""
    first = series.number <= COLOURS and not series.variant
    kind = "marker" if first else "marker hollow"
    shape = (series.number + series.variant) % SHAPES
    if shape == 0:
        return element("circle", cx=x, cy=y, r=size, class_=kind)
    if shape == 5:
        r = size * 0.95
        arms = f"M{number(x - r)} {number(y - r)}l{number(2 * r)} {number(2 * r)}"
        arms += f"M{number(x - r)} {number(y + r)}l{number(2 * r)} {number(-2 * r)}"
        return element("path", d=arms, class_=f"{kind} strokes")
    sides, turn = {1: (4, pi / 4), 2: (3, -pi / 2), 3: (4, 0.0), 4: (3, pi / 2)}[shape]
    angles = [turn + 2 * pi * corner / sides for corner in range(sides)]
    radius = size * 1.3
    points = [f"{x + radius * cos(a):.1f},{y + radius * sin(a):.1f}" for a in angles]
    return element("polygon", points=" ".join(points), class_=kind)
