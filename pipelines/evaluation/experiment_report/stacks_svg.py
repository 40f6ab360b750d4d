"""Stacked bars: what became of the answers of every year, and where an answer's seconds go."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from radarstream.pipelines.evaluation.experiment_report.outcomes import WORDS, Fate
from radarstream.pipelines.evaluation.experiment_report.panel_svg import (
    LETTER,
    Series,
    frame,
    round_step,
    ticks,
)
from radarstream.pipelines.evaluation.report.svg import element, group, number

HEAD, ROW, BAR = 40.0, 22.0, 16.0
ROOM = 720.0  # for all columns
ORDER = (Fate.CORRECT, Fate.BOTH, Fate.STALE, Fate.OTHER, Fate.UNLABELLED, Fate.ABSTAINED,
         Fate.FOOLED, Fate.ERROR)  # fmt: skip
STAGES = ("atomic answers", "relations", "selection", "generation")


@dataclass(frozen=True, slots=True)
class Step:
    """A column of the timeline."""

    name: str
    attacked: bool


@dataclass(frozen=True, slots=True)
class Spent:
    """Mean seconds of an answer by stage, in the order of `STAGES`."""

    series: Series
    seconds: tuple[float, float, float, float]


def timeline(
    title: str,
    steps: Sequence[Step],
    fates: Sequence[tuple[Series, Sequence[Mapping[Fate, int]]]],
) -> Markup:
    """Rows are contenders, columns steps, each cell a bar of what its answers turned out to be."""
    left = _label_width(series for series, _ in fates)
    width = min(150.0, max(34.0, ROOM / max(1, len(steps))))
    rows = [
        group([_row_label(series, left, index), *_bars(steps, counts, left, width, index)])
        for index, (series, counts) in enumerate(fates)
    ]
    return frame(
        title,
        "Answers of every step by what they turned out to be; the same figures follow as a table.",
        *_columns(steps, left, width),
        *rows,
        width=left + len(steps) * width + 2,
        height=HEAD + len(fates) * ROW,
        kind="timeline",
    )


def _label_width(series: Iterable[Series]) -> float:
    return max((len(one.shown) for one in series), default=0) * LETTER + 14


def _columns(steps: Sequence[Step], left: float, width: float) -> Iterator[Markup]:
    every = max(1, -(-46 // int(width)))
    for index, step in enumerate(steps):
        x = left + (index + 0.5) * width
        if index % every == 0:
            yield element("text", step.name, x=x, y=HEAD - 6, class_="tick middle")
        if step.attacked:
            points = f"{number(x - 4)},18 {number(x + 4)},18 {number(x)},24"
            yield element(
                "polygon", element("title", "attacked"), points=points, class_="attack-mark"
            )


def _row_label(series: Series, left: float, index: int) -> Markup:
    y = HEAD + index * ROW + BAR - 4
    return element("text", series.shown, x=left - 8, y=y, class_="row-label")


def _bars(
    steps: Sequence[Step],
    counts: Sequence[Mapping[Fate, int]],
    left: float,
    width: float,
    index: int,
) -> Iterator[Markup]:
    y = HEAD + index * ROW
    for column, (step, held) in enumerate(zip(steps, counts, strict=True)):
        total = sum(held.values())
        x = left + column * width + 1
        for fate in ORDER:
            count = held.get(fate, 0)
            if count:
                size = count / total * (width - 3)
                words = f"{step.name}: {count} of {total} {WORDS[fate]}"
                yield _segment(x, y, size, str(count), words, f"fate-{fate}")
                x += size


def _segment(x: float, y: float, size: float, caption: str, words: str, kind: str) -> Markup:
    parts = [
        element("title", words),
        element("rect", x=x, y=y, width=max(0.6, size - 0.8), height=BAR, class_="segment"),
    ]
    if size >= len(caption) * 6.4 + 4:
        parts.append(element("text", caption, x=x + size / 2, y=y + 12, class_="count"))
    return group(parts, class_=kind)


def stages(title: str, spent: Sequence[Spent]) -> Markup:
    """Seconds of an answer by stage, one bar per contender."""
    left = _label_width(one.series for one in spent)
    most = max((sum(one.seconds) for one in spent), default=0.0) or 1.0
    room = 420.0
    bottom = HEAD + len(spent) * ROW
    axis = []
    for value in ticks(0.0, most, round_step(most / 5)):
        x = left + value / most * room
        axis.append(element("line", x1=x, x2=x, y1=HEAD - 4, y2=bottom, class_="grid"))
        axis.append(element("text", f"{value:g} s", x=x, y=HEAD - 8, class_="tick middle"))
    return frame(
        title,
        "; ".join(_spoken(one) for one in spent),
        *axis,
        *(_spent(one, left, room / most, index) for index, one in enumerate(spent)),
        width=left + room + 60,
        height=bottom,
        kind="stages",
    )


def _spoken(one: Spent) -> str:
    pairs = zip(STAGES, one.seconds, strict=True)
    return f"{one.series.name}: " + ", ".join(f"{name} {value:.3g} s" for name, value in pairs)


def _spent(one: Spent, left: float, scale: float, index: int) -> Markup:
    x, y = left, HEAD + index * ROW
    parts = [_row_label(one.series, left, index)]
    for stage, (name, seconds) in enumerate(zip(STAGES, one.seconds, strict=True)):
        if seconds * scale >= 0.4:
            words = f"{one.series.name}, {name}: {seconds:.3g} s"
            parts.append(_segment(x, y, seconds * scale, "", words, f"stage-{stage}"))
            x += seconds * scale
    total = f"{sum(one.seconds):.2f} s"
    parts.append(element("text", total, x=x + 5, y=y + 12, class_="total"))
    return group(parts)
