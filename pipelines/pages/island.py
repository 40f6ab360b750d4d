"""Data inside a page that is data only: JSON that no parser of HTML can take for markup."""

import json
from functools import partial
from typing import Any
from xml.etree import ElementTree

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

Tree = list[Any]  # [number of its shape, values, child, ...]; a child is a Tree or a text
Shapes = dict[tuple[str, ...], int]  # names of an element and its attributes: number

_compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


def island(value: Any) -> Markup:
    r"""JSON for a `<script type="application/json">`: `<`, `>`, `&` and `'` are escaped in it.

    Hidden characters must have been made visible before.

    >>> str(island(["</script>"]))
    '["\\u003c/script\\u003e"]'
    """
    return htmlsafe_json_dumps(value, dumps=_compact)


def tree(drawing: Markup, shapes: Shapes) -> Tree:
    """A drawing of ours as nested lists, from which the page makes elements one by one.

    What elements have in common, their names and those of their attributes, goes into `shapes`.
    """
    return _tree(ElementTree.fromstring(str(drawing)), shapes)


def _tree(node: ElementTree.Element, shapes: Shapes) -> Tree:
    shape = shapes.setdefault((node.tag, *node.attrib), len(shapes))
    values = [int(v) if v.isascii() and v.isdigit() else v for v in node.attrib.values()]
    inner: Tree = [node.text] if node.text else []
    for child in node:
        inner.append(_tree(child, shapes))
        if child.tail:
            inner.append(child.tail)
    return [shape, values, *inner]
