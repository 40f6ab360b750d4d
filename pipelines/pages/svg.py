"""SVG elements as escaped markup."""

from markupsafe import Markup, escape

from radarstream.pipelines.pages.safe_text import visible


def element(name: str, *children: str | Markup, **attributes: str | float) -> Markup:
    """`<name attributes>children</name>`, everything untrusted escaped.

    A trailing underscore is dropped from attribute names, other underscores become hyphens;
    numbers are written with at most one decimal.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    inner = Markup("").join(escape(visible(child)) for child in children)
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704  (every part is escaped)


def _value(value: str | float) -> Markup:
    return escape(number(value) if isinstance(value, float) else visible(str(value)))


def number(value: float) -> str:
    """Shortest form with at most one decimal.

    >>> number(12.0), number(3.25)
    ('12', '3.2')
    """
    return f"{value:.1f}".removesuffix(".0")


def picture(
    kind: str, label: str, width: float, height: float, *parts: Markup, role: str = "img"
) -> Markup:
    """A whole drawing; `kind` is its style class, `label` its description."""
    w, h = number(width), number(height)
    return element("svg", *parts, class_=kind, role=role, aria_label=label,
                   viewBox=f"0 0 {w} {h}", width=w, height=h)  # fmt: skip


def rect(x: float, y: float, width: float, height: float, kind: str, **more: str | float) -> Markup:
    """A rectangle by its upper left corner; `kind` is the style class, as below."""
    return element("rect", x=x, y=y, width=width, height=height, **more, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=kind)


def circle(x: float, y: float, radius: float, kind: str, *inside: Markup) -> Markup:
    """A circle by its centre."""
    return element("circle", *inside, cx=x, cy=y, r=radius, class_=kind)


def text(words: str, x: float | str, y: float, kind: str) -> Markup:
    """One line of words."""
    return element("text", words, x=x, y=y, class_=kind)
