"""A source's reliability over time: the posterior's mean, its 95 % interval, and what moved it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from radarstream.pipelines.evaluation.attribution_report.times import day
from radarstream.pipelines.evaluation.experiment_report.panel_svg import Scale, percent_axis
from radarstream.pipelines.evaluation.report.svg import element, group, number
from radarstream.schemas.sources import NEUTRAL, EventKind

WIDTH, HEIGHT = 640.0, 150.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 12.0, 8.0, 40.0
SMALL_WIDTH, SMALL_HEIGHT = 150.0, 34.0
DATES = 5
WORDS = {
    EventKind.CONFIRMED: "taught a wrong answer, as people confirmed",
    EventKind.DETECTED: "taught a wrong answer, as far as the pipeline can tell",
    EventKind.AGREEMENT: "supported answers that were borne out",
    EventKind.RETRACTED: "was blamed, and that was taken back",
}


@dataclass(frozen=True, slots=True)
class Point:
    """The posterior at a moment: mean and 95 % interval, each in (0, 1)."""

    at_ms: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that is known of the source."""

    at_ms: int
    kind: EventKind


def small(points: Sequence[Point], start_ms: int, end_ms: int) -> Markup:
    """The curve alone, on an axis of time that all sources share."""
    across = Scale(start_ms, max(end_ms, start_ms + 1), 2.0, SMALL_WIDTH - 4.0)
    up = Scale(0.0, 1.0, SMALL_HEIGHT - 2.0, 2.0)
    return element(
        "svg",
        *_curve(points, across, up),
        class_="reliability",
        viewBox=f"0 0 {number(SMALL_WIDTH)} {number(SMALL_HEIGHT)}",
        width=number(SMALL_WIDTH),
        height=number(SMALL_HEIGHT),
        aria_hidden="true",
    )


def chart(points: Sequence[Point], marks: Sequence[Mark], start_ms: int, end_ms: int) -> Markup:
    """The curve with its axes and the events below it."""
    bottom = HEIGHT - BOTTOM
    across = Scale(start_ms, max(end_ms, start_ms + 1), LEFT + 8, WIDTH - RIGHT - 8)
    up = Scale(0.0, 1.0, bottom, TOP)
    return element(
        "svg",
        element("title", "Reliability over time"),
        element("desc", _spoken(points)),
        *percent_axis(up, LEFT, WIDTH - RIGHT, 0.25),
        *_dates(across, bottom),
        *_curve(points, across, up),
        *(_mark(mark, across(mark.at_ms), bottom + 8) for mark in marks),
        class_="reliability",
        role="img",
        aria_label=f"Reliability over time. {_spoken(points)}",
        viewBox=f"0 0 {number(WIDTH)} {number(HEIGHT)}",
        width=number(WIDTH),
        height=number(HEIGHT),
    )


def _curve(points: Sequence[Point], across: Scale, up: Scale) -> Iterator[Markup]:
    there = [(across(p.at_ms), p) for p in points]
    upper = [f"{number(x)},{number(up(p.high))}" for x, p in there]
    lower = [f"{number(x)},{number(up(p.low))}" for x, p in reversed(there)]
    mean = [f"{number(x)},{number(up(p.mean))}" for x, p in there]
    y = up(NEUTRAL)
    yield element("polygon", points=" ".join([*upper, *lower]), class_="band")
    yield element("line", x1=across.start, x2=across.end, y1=y, y2=y, class_="neutral")
    yield element("polyline", points=" ".join(mean), class_="mean")
    if there:
        x, last = there[-1]
        yield element("circle", cx=x, cy=up(last.mean), r=3.0, class_="now")


def _dates(across: Scale, bottom: float) -> Iterator[Markup]:
    span = across.high - across.low
    shown: set[str] = set()
    for index in range(DATES):
        at = across.low + span * index / (DATES - 1)
        name = day(int(at))
        if name in shown:
            continue
        shown.add(name)
        place = "middle" if 0 < index < DATES - 1 else "end" if index else "start"
        yield element("text", name, x=across(at), y=bottom + 32, class_=f"tick {place}")


def _mark(mark: Mark, x: float, y: float) -> Markup:
    told = element("title", f"{day(mark.at_ms)}: {WORDS[mark.kind]}")
    if mark.kind is EventKind.AGREEMENT:
        shape = element("line", x1=x, x2=x, y1=y - 4, y2=y + 4, class_="shape")
    elif mark.kind is EventKind.RETRACTED:
        path = f"M{number(x - 3.5)} {number(y - 3.5)}l7 7m0 -7l-7 7"
        shape = element("path", d=path, class_="shape")
    else:
        corners = ((0, -5), (5, 0), (0, 5), (-5, 0))
        points = " ".join(f"{number(x + dx)},{number(y + dy)}" for dx, dy in corners)
        shape = element("polygon", points=points, class_="shape")
    return group([told, shape], class_=f"mark {mark.kind}")


def _spoken(points: Sequence[Point]) -> str:
    if not points:
        return "Nothing is known."
    first, last = points[0], points[-1]
    least = min(points, key=lambda point: point.mean)
    return (
        f"{first.mean:.0%} on {day(first.at_ms)}, least {least.mean:.0%} on {day(least.at_ms)}, "
        f"{last.mean:.0%} ({last.low:.0%} to {last.high:.0%}) on {day(last.at_ms)}."
    )
