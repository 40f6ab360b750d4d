"""The list of watched queries: a YAML file, checked as a whole, or a table."""

import re
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError, ValidationInfo, field_validator
from yaml.constructor import ConstructorError

from radarstream.pipelines.settings.loading import problems
from radarstream.pipelines.settings.watched import Defaults, Watched
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.section import Section

FILE_BYTES: Final = 4 * 2**20
MOST_NESTED: Final = 20


class Watchlist(Section):
    """A watchlist file."""

    defaults: Defaults = Defaults()
    """values for keys that an entry does not set"""
    queries: tuple[Watched, ...]

    @field_validator("queries", mode="before")
    @classmethod
    def _with_defaults(cls, entries: Any, info: ValidationInfo) -> Any:
        if not isinstance(entries, list) or "defaults" not in info.data:
            return entries
        base = info.data["defaults"].model_dump(exclude_unset=True)
        return [
            base | {key: value for key, value in entry.items() if value is not None}
            if isinstance(entry, dict)
            else entry
            for entry in entries
        ]


def read_watchlist(file: Path) -> tuple[Watched, ...]:
    """Return the entries of a file, defaults filled in. Raises ConfigurationError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read the watchlist {file}: {error.strerror}") from None
    if len(data) > FILE_BYTES:
        raise ConfigurationError(f"the watchlist {file} is over {FILE_BYTES} bytes")
    return parse_watchlist(data, str(file))


class _Loader(yaml.CSafeLoader):
    """YAML as plain data without repeated keys; libyaml accepts `{question: Who won?}`."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                problem = f"the key {key.value!r} is repeated"
                raise ConstructorError(problem=problem, problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def parse_watchlist(data: bytes, name: str) -> tuple[Watched, ...]:
    """Return the entries of a watchlist's YAML. Raises ConfigurationError."""
    value = _plain(data, name)
    if not isinstance(value, dict):
        raise ConfigurationError(f"{name}: a watchlist holds `queries:` and perhaps `defaults:`")
    try:
        entries = Watchlist.model_validate(value).queries
    except ValidationError as error:
        said = problems(error, value, {name: value})
        numbered = re.sub(r"\bqueries\.(\d+)", lambda found: f"query {int(found[1]) + 1}", said)
        raise ConfigurationError(numbered) from None
    _refuse_repeats(name, entries)
    return entries


def _plain(data: bytes, name: str) -> Any:
    depth = 0
    try:
        for event in yaml.parse(data, _Loader):  # deep nesting would overflow libyaml's stack
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MOST_NESTED:
                raise ConfigurationError(f"{name}: not YAML: nested too deeply")
        return yaml.load(data, _Loader)  # noqa: S506 a safe one
    except yaml.MarkedYAMLError as error:
        last = data.count(b"\n") + 1  # libyaml counts the end of the file as another line
        line = min(error.problem_mark.line + 1, last) if error.problem_mark else 1
        raise ConfigurationError(f"{name} line {line}: not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise ConfigurationError(f"{name}: not YAML: {type(error).__name__}") from None


def watchlist_schema() -> dict[str, Any]:
    """JSON Schema of a watchlist file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Watchlist.model_json_schema(),
    }


def _refuse_repeats(name: str, entries: tuple[Watched, ...]) -> None:
    first: dict[str, int] = {}
    for number, entry in enumerate(entries, start=1):
        earlier = first.setdefault(entry.query.id, number)
        if earlier != number:
            raise ConfigurationError(
                f"{name}: query {number}: the same id as query {earlier}; give one of them an id "
                "of its own"
            )
