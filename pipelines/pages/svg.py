"""SVG elements as escaped markup."""

from collections.abc import Iterable

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


def group(children: Iterable[Markup], **attributes: str | float) -> Markup:
    """`<g>` round several elements."""
    return element("g", *children, **attributes)
