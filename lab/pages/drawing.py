"""Vega-Lite charts as static SVG: no script, no request, texts escaped, colours of the page.

A chart is a list of layers (https://vega.github.io/vega-lite/docs/layer.html), rendered by
vl-convert. It names its colours with `ink`. Each is a stand-in that `drawn` replaces by a CSS
variable, so that a page in dark mode recolours its charts. What a mark is described by becomes its
tooltip.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from xml.etree import ElementTree

from markupsafe import Markup, escape

from radarstream.pipelines.pages.safe_text import shorten, visible

INKS: Final = (
    "ink", "soft", "line", "faint", "surface", "link", "good", "bad", "other", "none", "attack",
    "attack-bg", "bad-bg", "none-bg", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "correct",
    "fooled",
)  # fmt: skip
DRAWN: Final = {"g", "path", "line", "rect", "circle", "text", "tspan"}
KEPT: Final = {
    "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "rx",
    "width", "height", "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin",
    "stroke-linecap", "opacity", "fill-opacity", "stroke-opacity", "text-anchor", "font-weight",
}  # fmt: skip
RAW: Final = {"fill", "stroke", "color", "shape", "size"}
WORDED: Final = {"text", "description", "detail"}
HEADING = 90  # letters of a heading
LONGEST, DESCRIPTION = 1_000, 100_000  # letters of a mark's words, and of a chart's description
FONT_SIZE: Final = 11  # as the stylesheet has it
# Wide letters: where a page falls back to another font, its labels still have room.
FONT: Final = "Verdana, DejaVu Sans, sans-serif"
Spec = dict[str, Any]
_STAND_IN = re.compile(r"#fe00([0-9a-f]{2})")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")


def ink(name: str) -> str:
    """The stand-in for a colour of the stylesheet, `--name` there."""
    return f"#fe00{INKS.index(name):02x}"


_AXIS: Final = {"labelColor": ink("soft"), "titleColor": ink("soft"), "titleFontWeight": "normal",
                "labelFontSize": FONT_SIZE, "titleFontSize": FONT_SIZE, "domain": False,
                "ticks": False, "labelOverlap": False, "labelFlush": False, "labelPadding": 6,
                "gridColor": ink("faint"), "labelLimit": 400,
                "titlePadding": 6}  # fmt: skip
_TITLE: Final = {"anchor": "start", "frame": "group", "fontSize": 12, "fontWeight": 600,
                 "color": ink("ink"), "offset": 8, "limit": 900}  # fmt: skip
CONFIG: Final[Spec] = {
    "padding": 3,
    "background": "white",
    "config": {
        "font": FONT,
        "view": {"stroke": None},
        "axis": _AXIS,
        "title": _TITLE,
        "text": {"fontSize": FONT_SIZE, "color": ink("ink"), "baseline": "middle"},
    },
}


def layer(kind: str, rows: Sequence[Spec], channels: Spec, **style: Any) -> Spec:
    """Marks of one kind, one per row. A channel is a field's name or a mapping of Vega-Lite.
    Positions are numbers on linear scales; colours, shapes and words are as the rows have them.
    """
    encoding: Spec = {}
    for channel, told in channels.items():
        given = {"field": told} if isinstance(told, str) else told
        if channel in RAW:
            given = {"type": "nominal", "scale": None} | given
        elif channel not in ("x2", "y2"):
            given = {"type": "nominal" if channel in WORDED else "quantitative"} | given
        encoding[channel] = given
    mark = {"type": kind, "opacity": 1, "aria": "description" in channels} | style
    values = [{key: _bounded(held) for key, held in row.items()} for row in rows]
    return {"data": {"values": values}, "mark": mark, "encoding": encoding}


def _bounded(value: Any) -> Any:
    """A text of others that is too long to be measured quickly, cut; everything else as it is."""
    long = isinstance(value, str) and len(value) > LONGEST
    return shorten(value, LONGEST) if long else value


def drawn(
    layers: Sequence[Spec], title: str, description: str, kind: str = "", **size: Any
) -> Markup:
    """The layers that have rows as inline SVG, with a title, and a description for whoever cannot
    see it. `size` is the width and height, and a `heading` where one is to be drawn.
    """
    import vl_convert  # here, since only who draws should wait for it

    heading = size.pop("heading", None)
    spec: Spec = size | {"layer": [one for one in layers if one["data"]["values"]], **CONFIG}
    if heading is not None:
        spec["title"] = {"text": shorten(heading, HEADING)}
    picture = vl_convert.vegalite_to_svg(_visible(spec), allowed_base_urls=[])
    title = _bounded(title)
    if len(description) > DESCRIPTION:
        description = shorten(description, DESCRIPTION)
    root = ElementTree.fromstring(picture)  # noqa: S314  (made by the library from our spec)
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *(part for child in root for part in _inert(child)),
        class_=f"plot {kind}".rstrip(),
        role="img",
        aria_label=f"{title}. {description}",
        viewBox=root.attrib["viewBox"],
        width=root.attrib["width"],
        height=root.attrib["height"],
    )


def element(name: str, *children: str | Markup, **attributes: str) -> Markup:
    """`<name attributes>children</name>`, everything untrusted escaped. A trailing underscore is
    dropped from attribute names, other underscores become hyphens.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(visible(value))}"'
        for key, value in attributes.items()
    )
    inner = Markup("").join(escape(visible(child)) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704  (every part is escaped)


def _visible(value: Any) -> Any:
    """A copy of a specification with hidden characters of all its texts shown."""
    if isinstance(value, dict):
        return {key: _visible(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_visible(held) for held in value]
    return visible(value)


def _inert(node: ElementTree.Element) -> Iterator[Markup]:
    """The node without anything but shapes and words; nothing where it draws nothing."""
    name = node.tag.rpartition("}")[2]
    held = node.attrib
    hidden = held.get("display") == "none" or "background" in held.get("class", "").split()
    if name not in DRAWN or hidden or held.get("fill") == "white":
        return
    parts: list[str | Markup] = [node.text] if name in ("text", "tspan") and node.text else []
    parts += [part for child in node for part in _inert(child)]
    if name == "g" and not parts:
        return
    if name != "g" and "aria-label" in held and held.get("aria-roledescription"):
        parts.insert(0, element("title", held["aria-label"]))
    kept = {key.replace("-", "_"): _value(held[key]) for key in held if key in KEPT}
    yield element(name, *parts, **kept)


def _value(written: str) -> str:
    """An attribute's value with the page's colours and short numbers."""
    coloured = _STAND_IN.sub(lambda found: f"var(--{INKS[int(found[1], 16)]})", written)
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", coloured)
