"""A query over time as inline SVG: truth, answers, and belief on one shared time axis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from markupsafe import Markup

from radarstream.pipelines.pages.outcomes import MARKS, WORDS
from radarstream.pipelines.pages.replay.query_view import QueryView
from radarstream.pipelines.pages.replay.step_view import StepView
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.svg import element, group, number
from radarstream.schemas.verdict import MemoryDecision

GUTTER = 102
AXIS = 38
PANEL = 54


@dataclass(frozen=True, slots=True)
class Columns:
    """Horizontal places of the steps, in pixels."""

    count: int
    width: float

    @property
    def wide(self) -> bool:
        """Whether a cell has room for words."""
        return self.width >= 84

    def left(self, index: int) -> float:
        """Left edge of a step's column."""
        return GUTTER + index * self.width

    def centre(self, index: int) -> float:
        """Middle of a step's column."""
        return self.left(index) + self.width / 2

    @property
    def end(self) -> float:
        """Right edge of the last column."""
        return self.left(self.count)


def history(query: QueryView) -> Markup:
    """Truth, defended and undefended answers, belief and memory of one query, step by step."""
    steps = query.steps
    columns = Columns(len(steps), min(164.0, max(30.0, 984 / len(steps))))
    rows: list[Markup] = []
    y = float(AXIS)
    if any(step.truth for step in steps):
        rows.append(_truth_row(steps, columns, y))
        y += 22
    rows.append(_answer_row(steps, columns, y, defended=True))
    y += 34
    if query.undefended:
        rows.append(_answer_row(steps, columns, y, defended=False))
        y += 28
    if any(step.memory.support_posterior is not None for step in steps):
        y += 20
        rows.append(_belief_panel(steps, columns, y, "support", "Staying"))
        y += PANEL + 36
        rows.append(_belief_panel(steps, columns, y, "conflict", "Being wrong"))
        y += PANEL + 20
        rows.append(_memory_row(steps, columns, y))
        y += 20
    frame = [*_attack_bands(steps, columns, y), *_axis(steps, columns)]
    return element(
        "svg",
        *frame,
        *rows,
        class_="history",
        role="group",
        aria_label=f"History of question {query.number}",
        viewBox=f"0 0 {number(columns.end + 2)} {number(y + 4)}",
        width=number(columns.end + 2),
        height=number(y + 4),
    )


def strip(query: QueryView) -> Markup:
    """The query in one line: a square per step, the undefended answer as a bar beneath."""
    size = 16.0 if len(query.steps) <= 24 else 7.0
    marks = []
    for index, step in enumerate(query.steps):
        x = index * (size + 2)
        marks.append(_square(x, 6.0, size, 14.0, step.outcome))
        if step.undefended is not None:
            marks.append(_square(x, 22.0, size, 4.0, step.undefended_outcome))
        if step.attack:
            points = f"{number(x + size / 2 - 3)},0 {number(x + size / 2 + 3)},0 "
            points += f"{number(x + size / 2)},4.5"
            marks.append(element("polygon", points=points, class_="attack-mark"))
    width = number(len(query.steps) * (size + 2))
    return element(
        "svg",
        *marks,
        class_="strip",
        role="img",
        aria_label="; ".join(f"{s.date}: {WORDS[s.outcome]}" for s in query.steps[:24]),
        viewBox=f"0 0 {width} 26",
        width=width,
        height=26,
    )


def _square(x: float, y: float, width: float, height: float, outcome: str) -> Markup:
    return element("rect", x=x, y=y, width=width, height=height, rx=1.5, class_=f"fill-{outcome}")


def _axis(steps: Sequence[StepView], columns: Columns) -> Iterator[Markup]:
    """Dates of as many columns as there is room for."""
    widest = 6.4 * max(len(step.date) for step in steps) + 12
    every = max(1, ceil(widest / columns.width))
    for index, step in enumerate(steps):
        if index % every == 0:
            x = max(columns.centre(index), widest / 2)
            yield element("text", step.date, x=x, y=24, class_="axis-date")


def _attack_bands(steps: Sequence[StepView], columns: Columns, bottom: float) -> Iterator[Markup]:
    for index, step in enumerate(steps):
        if step.attack:
            yield element(
                "rect",
                x=columns.left(index) + 1,
                y=0,
                width=columns.width - 2,
                height=bottom,
                rx=4,
                class_="attack-band",
            )
            if columns.width >= 48:
                x = number(columns.left(index) + 4)
                yield element("path", d=f"M{x} 3h7l-2 3 2 3h-6v5h-1z", class_="attack-mark")


def _row_label(text: str, y: float) -> Markup:
    return element("text", text, x=GUTTER - 16, y=y, class_="row-label")


def _truth_row(steps: Sequence[StepView], columns: Columns, y: float) -> Markup:
    cells = [_row_label("Truth", y + 13)]
    for index, step in enumerate(steps):
        if columns.wide and step.truth:
            cells.append(_clipped(step.truth, columns, index, y, 18, "truth"))
        elif index and step.truth != steps[index - 1].truth:
            x = columns.left(index)
            cells.append(element("line", x1=x, x2=x, y1=y, y2=y + 18, class_="truth-change"))
    return group(cells)


def _answer_row(steps: Sequence[StepView], columns: Columns, y: float, *, defended: bool) -> Markup:
    height = 28 if defended else 20
    cells = [_row_label("Answer" if defended else "Undefended", y + height / 2 + 4)]
    for index, step in enumerate(steps):
        outcome = step.outcome if defended else step.undefended_outcome
        answer = step.answer if defended else step.undefended
        if answer is None:
            continue
        box = element(
            "rect",
            x=columns.left(index) + 2,
            y=y,
            width=columns.width - 4,
            height=height,
            rx=3,
            class_=f"cell cell-{outcome}",
        )
        text = answer if outcome != "abstained" else "no answer"
        caption = f"{MARKS[outcome]} {text}" if columns.wide else MARKS[outcome]
        label = _clipped(caption, columns, index, y, height, f"cell-text text-{outcome}")
        title = element("title", f"{step.date}: {text} ({WORDS[outcome]})")
        cells.append(element("a", title, box, label, href=f"#{step.anchor}"))
        if defended and step.changed:
            x = columns.left(index)
            cells.append(element("line", x1=x, x2=x, y1=y - 2, y2=y + height + 2, class_="change"))
    return group(cells)


def _clipped(text: str, columns: Columns, index: int, y: float, height: float, kind: str) -> Markup:
    """Centred text in a column; a nested viewport clips what letter widths did not foresee."""
    inner = columns.width - 10
    words = element(
        "text", shorten(text, max(1, int(inner / 6.1))), x="50%", y=height / 2 + 4, class_=kind
    )
    return element("svg", words, x=columns.left(index) + 5, y=y, width=inner, height=height)


def _belief_panel(
    steps: Sequence[StepView], columns: Columns, top: float, quantity: str, label: str
) -> Markup:
    """Hollow dot: prior; full dot: posterior after this step's evidence; both in [0, 1]."""

    def height(value: float) -> float:
        return top + (1 - value) * PANEL

    marks = [_row_label(label, top + PANEL / 2 + 4)]
    marks.extend(
        element("line", x1=GUTTER, x2=columns.end, y1=height(v), y2=height(v), class_="grid")
        for v in (0.0, 0.5, 1.0)
    )
    marks.extend(
        element("text", str(v), x=GUTTER - 4, y=height(v) + 3, class_="tick") for v in (0, 1)
    )
    dots: list[Markup] = []
    line: list[str] = []
    for index, step in enumerate(steps):
        prior = getattr(step.memory, f"{quantity}_prior")
        posterior = getattr(step.memory, f"{quantity}_posterior")
        if prior is None or posterior is None:
            continue
        x = columns.centre(index)
        line.append(f"{number(x)},{number(height(posterior))}")
        dots.append(
            element("line", x1=x, x2=x, y1=height(prior), y2=height(posterior), class_="shift")
        )
        dots.append(
            element(
                "circle",
                element("title", f"prior {prior:.2f}"),
                cx=x,
                cy=height(prior),
                r=3.5,
                class_="prior",
            )
        )
        dots.append(
            element(
                "circle",
                element("title", f"posterior {posterior:.2f}"),
                cx=x,
                cy=height(posterior),
                r=4,
                class_="posterior",
            )
        )
        if columns.wide:
            # Away from the prior, where neither the shift nor a peak's line runs.
            still = abs(posterior - prior) < 0.15
            below = posterior < 0.5 if still else posterior < prior
            y = height(posterior) + (15 if below else -8)
            dots.append(element("text", f"{prior:.2f} → {posterior:.2f}", x=x, y=y, class_="value"))
    marks.append(element("polyline", points=" ".join(line), class_="belief-line"))
    return group([*marks, *dots], class_=f"panel {quantity}")


def _memory_row(steps: Sequence[StepView], columns: Columns, y: float) -> Markup:
    cells = [_row_label("Memory", y + 12)]
    for index, step in enumerate(steps):
        if step.memory.decision is not MemoryDecision.NONE:
            held = step.memory.decision is MemoryDecision.RETAINED
            word = ("retained" if held else "falsified") if columns.wide else ("●" if held else "✕")
            cells.append(
                element(
                    "text",
                    word,
                    x=columns.centre(index),
                    y=y + 12,
                    class_=f"memory-word {'held' if held else 'lost'}",
                )
            )
    return group(cells)
