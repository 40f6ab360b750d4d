"""YAML as plain data: no anchors, no tags, no number that costs more than a look.

Whatever would take time or memory out of proportion to the file is refused before it is built.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from radarstream.schemas.errors import ConfigurationError

DEPTH: Final = 16
NUMBER_CHARACTERS: Final = 40
Place = tuple[str | int, ...]
_NUMBERS: Final = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
# The parser in C, where PyYAML has it, is ten times as fast.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(data: bytes, name: str) -> tuple[dict[Place, int], Any]:
    """Return the value, and the line on which each part of it stands.

    Raises ConfigurationError, with lines of `name`.
    """
    try:
        _refuse_bombs(data, name)
        return _built(data, name)
    except yaml.MarkedYAMLError as error:
        last = data.count(b"\n") + 1  # the end of the file is no line of its own
        mark = error.problem_mark
        where = f" line {min(mark.line + 1, last)}" if mark else ""
        raise ConfigurationError(f"{name}{where}: not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, OverflowError):
        raise ConfigurationError(
            f"{name}: not YAML: a character is not allowed in it, or a date does not exist"
        ) from None


def _refuse_bombs(data: bytes, name: str) -> None:
    depth = 0
    for event in yaml.parse(data, _LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ConfigurationError(f"{name}: aliases (*name) are not taken")
        if getattr(event, "tag", None) is not None:
            raise ConfigurationError(f"{name}: tags (!name) are not taken")
        if isinstance(event, yaml.CollectionStartEvent | yaml.CollectionEndEvent):
            depth += 1 if isinstance(event, yaml.CollectionStartEvent) else -1
        if depth > DEPTH:
            raise ConfigurationError(f"{name}: nested too deeply")


def _built(data: bytes, name: str) -> tuple[dict[Place, int], Any]:
    loader = _LOADER(data)
    try:
        root = loader.get_single_node()
        if root is None:
            return {}, None
        _refuse_large_numbers(root, name)
        lines: dict[Place, int] = {}
        for place, line in _places(root, ()):
            if place in lines:
                raise ConfigurationError(f"{name} line {line}: {place[-1]!r} stands there twice")
            lines[place] = line
        return lines, loader.construct_document(root)
    finally:
        loader.dispose()


def _refuse_large_numbers(node: yaml.Node, name: str) -> None:
    """Refuse numbers of many digits, and all in base 60, which grow with every colon."""
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for part in pair:
                _refuse_large_numbers(part, name)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_large_numbers(item, name)
    elif node.tag in _NUMBERS:
        where = f"{name} line {node.start_mark.line + 1}"
        if len(node.value) > NUMBER_CHARACTERS:
            raise ConfigurationError(f"{where}: a number of {len(node.value)} characters")
        if ":" in node.value:
            raise ConfigurationError(
                f"{where}: YAML reads {node.value} as a number in base 60; write it in quotes"
            )


def _places(node: yaml.Node, place: Place) -> Iterator[tuple[Place, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, str(key.value))
            yield inner, key.start_mark.line + 1
            yield from _places(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            within = (*place, number)
            yield within, item.start_mark.line + 1
            yield from _places(item, within)
