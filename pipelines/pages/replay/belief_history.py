"""A query over time as inline SVG: truth, answers, and belief on one shared time axis."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from markupsafe import Markup

from radarstream.pipelines.pages.outcomes import OUTCOMES
from radarstream.pipelines.pages.replay.steps import QueryView, StepView
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.svg import circle, element, line, number, picture, rect, text

GUTTER = 102
AXIS = 38
PANEL = 54


@dataclass(frozen=True, slots=True)
class Columns:
    """Steps side by side; places are in pixels."""

    steps: Sequence[StepView]

    @property
    def width(self) -> float:
        """Width of one column."""
        return min(164.0, max(30.0, 984 / len(self.steps)))

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
        return self.left(len(self.steps))


Draw = Callable[[Columns, float], Iterator[Markup]]


def history(query: QueryView) -> Markup:
    """Truth, defended and undefended answers, belief and memory of one query, step by step."""
    columns = Columns(query.steps)
    bare = any(step.undefended is not None for step in query.steps)
    believed = any(step.memory.support_posterior is not None for step in query.steps)
    kinds: list[tuple[bool, int, int, Draw]] = [  # whether to draw it, space above it, its height
        (any(step.truth for step in query.steps), 0, 22, _truths),
        (True, 0, 34, partial(_answers, defended=True)),
        (bare, 0, 28, partial(_answers, defended=False)),
        (believed, 20, PANEL + 36, partial(_beliefs, quantity="support", label="Staying")),
        (believed, 0, PANEL + 20, partial(_beliefs, quantity="conflict", label="Being wrong")),
        (believed, 0, 20, _memories),
    ]
    rows: list[Markup] = []
    y = float(AXIS)
    for there, above, height, draw in kinds:
        if there:
            rows += draw(columns, y + above)
            y += above + height
    return picture("history", f"History of question {query.number}", columns.end + 2, y + 4,
                   *_attacks(columns, y), *_dates(columns), *rows, role="group")  # fmt: skip


def strip(query: QueryView) -> Markup:
    """The query in one line: a square per step, the undefended answer as a bar beneath."""
    size = 16.0 if len(query.steps) <= 24 else 7.0
    marks = []
    for index, step in enumerate(query.steps):
        x = index * (size + 2)
        marks.append(rect(x, 6.0, size, 14.0, f"fill-{step.outcome}", rx=1.5))
        if step.undefended is not None:
            marks.append(rect(x, 22.0, size, 4.0, f"fill-{step.undefended_outcome}", rx=1.5))
        if step.labels.attack:
            middle = x + size / 2
            points = f"{number(middle - 3)},0 {number(middle + 3)},0 {number(middle)},4.5"
            marks.append(element("polygon", points=points, class_="attack-mark"))
    label = "; ".join(f"{s.date}: {OUTCOMES[s.outcome].words}" for s in query.steps[:24])
    return picture("strip", label, len(query.steps) * (size + 2), 26, *marks)


def _dates(columns: Columns) -> Iterator[Markup]:
    """Dates of as many columns as there is room for."""
    widest = 6.4 * max(len(step.date) for step in columns.steps) + 12
    every = max(1, ceil(widest / columns.width))
    for index, step in enumerate(columns.steps):
        if index % every == 0:
            yield text(step.date, max(columns.centre(index), widest / 2), 24, "axis-date")


def _attacks(columns: Columns, bottom: float) -> Iterator[Markup]:
    for index, step in enumerate(columns.steps):
        if step.labels.attack:
            left = columns.left(index)
            yield rect(left + 1, 0, columns.width - 2, bottom, "attack-band", rx=4)
            if columns.width >= 48:
                flag = f"M{number(left + 4)} 3h7l-2 3 2 3h-6v5h-1z"
                yield element("path", d=flag, class_="attack-mark")


def _row_label(words: str, y: float) -> Markup:
    return text(words, GUTTER - 16, y, "row-label")


def _truths(columns: Columns, y: float) -> Iterator[Markup]:
    yield _row_label("Truth", y + 13)
    for index, step in enumerate(columns.steps):
        x = columns.left(index)
        if columns.wide and step.truth:
            yield _clipped(step.truth, columns, index, y, 18, "truth")
        elif index and step.truth != columns.steps[index - 1].truth:
            yield line(x, y, x, y + 18, "truth-change")


def _answers(columns: Columns, y: float, *, defended: bool) -> Iterator[Markup]:
    height = 28 if defended else 20
    yield _row_label("Answer" if defended else "Undefended", y + height / 2 + 4)
    for index, step in enumerate(columns.steps):
        outcome = step.outcome if defended else step.undefended_outcome
        answer = step.answer if defended else step.undefended
        if answer is None:
            continue
        x = columns.left(index)
        box = rect(x + 2, y, columns.width - 4, height, f"cell cell-{outcome}", rx=3)
        words = answer if outcome != "abstained" else "no answer"
        look = OUTCOMES[outcome]
        caption = f"{look.mark} {words}" if columns.wide else look.mark
        label = _clipped(caption, columns, index, y, height, f"cell-text text-{outcome}")
        title = element("title", f"{step.date}: {words} ({look.words})")
        yield element("a", title, box, label, href=f"#{step.anchor}")
        if defended and step.event.changed:
            yield line(x, y - 2, x, y + height + 2, "change")


def _clipped(
    words: str, columns: Columns, index: int, y: float, height: float, kind: str
) -> Markup:
    """Centred text in a column; a nested viewport clips what letter widths did not foresee."""
    inner = columns.width - 10
    inside = text(shorten(words, max(1, int(inner / 6.1))), "50%", height / 2 + 4, kind)
    return element("svg", inside, x=columns.left(index) + 5, y=y, width=inner, height=height)


def _beliefs(columns: Columns, top: float, *, quantity: str, label: str) -> Iterator[Markup]:
    """Hollow dot: prior; full dot: posterior after this step's evidence; both in [0, 1]."""

    def height(value: float) -> float:
        return top + (1 - value) * PANEL

    yield _row_label(label, top + PANEL / 2 + 4)
    for value in (0.0, 0.5, 1.0):
        yield line(GUTTER, height(value), columns.end, height(value), "grid")
    for value in (0, 1):
        yield text(str(value), GUTTER - 4, height(value) + 3, "tick")
    dots: list[Markup] = []
    curve: list[str] = []
    for index, step in enumerate(columns.steps):
        prior = getattr(step.memory, f"{quantity}_prior")
        posterior = getattr(step.memory, f"{quantity}_posterior")
        if prior is None or posterior is None:
            continue
        x, before, after = columns.centre(index), height(prior), height(posterior)
        curve.append(f"{number(x)},{number(after)}")
        dots += [
            line(x, before, x, after, "shift"),
            circle(x, before, 3.5, "prior", element("title", f"prior {prior:.2f}")),
            circle(x, after, 4, "posterior", element("title", f"posterior {posterior:.2f}")),
        ]
        if columns.wide:
            # Away from the prior, where neither the shift nor a peak's line runs.
            still = abs(posterior - prior) < 0.15
            below = posterior < 0.5 if still else posterior < prior
            shift = f"{prior:.2f} → {posterior:.2f}"
            dots.append(text(shift, x, after + (15 if below else -8), "value"))
    lines = element("polyline", points=" ".join(curve), class_="belief-line")
    yield element("g", lines, *dots, class_=f"panel {quantity}")


def _memories(columns: Columns, y: float) -> Iterator[Markup]:
    yield _row_label("Memory", y + 12)
    for index, step in enumerate(columns.steps):
        if step.memory_label:
            mark, kind = ("✕", "lost") if step.event.falsified else ("●", "held")
            shown = step.memory_label if columns.wide else mark
            yield text(shown, columns.centre(index), y + 12, f"memory-word {kind}")
