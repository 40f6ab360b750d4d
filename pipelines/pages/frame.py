"""The frame of every page. Templates escape everything, fail on unknown names and show hidden
characters. A report is one HTML file; pages of the console have their files beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from radarstream.pipelines.pages import verdict_words
from radarstream.pipelines.pages.safe_text import (
    breakable,
    day,
    domain,
    excerpt,
    format_time,
    minute,
    quote_link,
    safe_link,
    shorten,
    visible,
)
from radarstream.pipelines.pages.steps import energy_parts

PACKAGE: Final = "radarstream.pipelines.pages"
EMPTY: Final = {"", "-", "–"}


@dataclass(frozen=True, slots=True)
class Look:
    """What an answer turned out to be, in words, and its mark."""

    mark: str
    words: str


OUTCOMES: Final = {
    "correct": Look("✓", "correct"),
    "both": Look("±", "correct, and names the target"),
    "stale": Look("↺", "stale: correct at an earlier date"),
    "other": Look("≠", "other answer"),
    "unlabelled": Look("·", "truth unknown"),
    "abstained": Look("–", "abstained"),
    "fooled": Look("✕", "fooled: names the target"),
    "error": Look("!", "error, not scored"),
}


@dataclass(frozen=True, slots=True)
class Page:
    """What the frame shows: `sentence` is the result, `plot` a drawing, `more` qualifies it;
    `links` are entries of the menu (address, name, whether to show it). Hashes belong under
    `provenance` only.
    """

    title: str
    sentence: str
    links: Sequence[tuple[str, str, object]]
    words: Mapping[str, str]
    plot: Markup | None = None
    more: Sequence[str] = ()
    heads: Sequence[tuple[str, object]] = ()
    notes: Sequence[str] = ()
    provenance: Sequence[tuple[str, object]] = ()
    command: str = ""
    settings: object = None


def render_served(template: str, page: Page, **values: Any) -> str:
    """A page of a service as text: it names style and scripts, which the service has as files."""
    return environment().get_template(template).render(page=page, settings="", **values)


@cache
def environment() -> Environment:
    """The template engine of all pages."""
    made = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    texts = (shorten, domain, safe_link, quote_link, excerpt)
    filters = (*texts, decimal, filled, format_time, day, minute)
    made.filters |= {one.__name__: one for one in filters}
    made.globals |= {
        "looks": OUTCOMES,
        "breakable": breakable,
        "wording": verdict_words,
        "energy_parts": energy_parts,
    }
    return made


@cache
def asset(name: str) -> Markup:
    """A style or script file of ours, trusted as it is ours."""
    text = (files(PACKAGE) / "templates" / name).read_text("utf-8")
    return Markup(text)  # noqa: S704  (shipped with the package)


def decimal(value: float | None, places: int = 2, signed: bool = False) -> str:
    """A number with a fixed number of decimals, an en dash where there is none.

    >>> decimal(-0.5, 1), decimal(0.5, 1, signed=True), decimal(-0.01, 1), decimal(None)
    ('−0.5', '+0.5', '0.0', '–')
    """
    if value is None:
        return "–"
    text = f"{value:{'+' if signed else ''}.{places}f}"
    return text.lstrip("+-") if float(text) == 0.0 else text.replace("-", "−")


def filled(table: Any, zeros: bool = False) -> list[int]:
    """Numbers of a table's columns that hold anything; with `zeros`, anything but zeros."""
    columns = ([row.cells[n] for row in table.rows] for n in range(len(table.columns)))
    return [
        number
        for number, cells in enumerate(columns)
        if any(c.text not in EMPTY and not (zeros and c.value == 0.0) for c in cells)
    ]
