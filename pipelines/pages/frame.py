"""The frame of every page: one template, one stylesheet, small scripts, and nothing from outside.

Templates escape everything, fail on unknown names and show hidden characters. A page is one HTML
file that asks the network for nothing.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from radarstream.pipelines.pages.outcomes import MARKS, WORDS
from radarstream.pipelines.pages.safe_text import shorten, visible, without_secrets
from radarstream.pipelines.pages.svg import element

PACKAGE: Final = "radarstream.pipelines.pages"
EMPTY: Final = {"", "-", "–"}
BAR_WIDTH: Final = 74.0


@dataclass(frozen=True, slots=True)
class Page:
    """What the frame shows round the content.

    `sentence` says what was found, `plot` shows it before and after, `more` qualifies it. `links`
    are the entries of the menu, `words` the glossary. Hashes belong under `provenance` only.
    """

    title: str
    sentence: str
    links: Sequence[tuple[str, str]]
    words: Sequence[tuple[str, str]]
    plot: Markup | None = None
    more: Sequence[str] = ()
    heads: Sequence[tuple[str, object]] = ()
    notes: Sequence[str] = ()
    provenance: Sequence[tuple[str, object]] = ()
    command: str = ""
    settings: object = None


def render(template: str, page: Page, *scripts: str, **values: Any) -> str:
    """A page as text. `scripts` are files of ours that it needs besides the common one."""
    script = Markup("").join(asset(name) for name in ("page.js", *scripts))
    return (
        _environment()
        .get_template(template)
        .render(
            page=page,
            settings=plain_json(without_secrets(page.settings)),
            style=asset("page.css"),
            script=script,
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            **values,
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shorten": shorten, "decimal": decimal, "filled": filled}
    environment.globals |= {"interval_bar": interval_bar, "marks": MARKS, "outcome_words": WORDS}
    return environment


@cache
def asset(name: str) -> Markup:
    """A style or script file of ours, trusted as it is ours."""
    text = (files(PACKAGE) / "templates" / name).read_text("utf-8")
    return Markup(text)  # noqa: S704  (shipped with the package)


def plain_json(value: object) -> str:
    """Settings to read."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, default=str)


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


def interval_bar(low: float, value: float, high: float, tone: str) -> Markup:
    """A share and its interval as a small bar, from 0 at its left to 1 at its right."""
    middle = 5.0
    return element(
        "svg",
        element("line", x1=0, x2=BAR_WIDTH, y1=middle, y2=middle, class_="track"),
        element("line", x1=low * BAR_WIDTH, x2=high * BAR_WIDTH, y1=middle, y2=middle,
                class_="span"),
        element("circle", cx=value * BAR_WIDTH, cy=middle, r=3, class_="dot"),
        class_=f"interval {tone}",
        viewBox=f"-3 0 {BAR_WIDTH + 6:g} 10",
        width=BAR_WIDTH + 6,
        height=10,
        aria_hidden="true",
    )  # fmt: skip
