"""Registries of methods, and methods made from their name and options."""

import json
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import asdict, is_dataclass, replace
from typing import Any, TypeVar

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import to_json

from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.plugins import load_plugin, plugins
from radarstream.schemas.snapshot import Query

MethodT = TypeVar("MethodT")


class Registry(MutableMapping[str, type[MethodT]]):
    """Methods by name: those `given`, and the plug-ins of a group, which are imported on look-up.

    `kind` is the word for a method in messages, by default the singular of the group.

    >>> "radar" in Registry("defences", {})
    False
    """

    def __init__(self, group: str, given: Mapping[str, type[MethodT]], kind: str = "") -> None:
        self.group, self.given = group, dict(given)
        self.kind = kind or group.removesuffix("s")

    def __getitem__(self, name: str) -> type[MethodT]:
        if name in self.given:
            return self.given[name]
        if name not in plugins(self.group):
            raise KeyError(name)
        method: type[MethodT] = load_plugin(self.group, name)
        return method

    def build(self, name: str, options: Mapping[str, Any] | None = None) -> MethodT:
        """Make a method, see `built`."""
        return built(self.kind, self, name, options)

    def __setitem__(self, name: str, method: type[MethodT]) -> None:
        self.given[name] = method

    def __delitem__(self, name: str) -> None:
        del self.given[name]

    def __contains__(self, name: object) -> bool:
        return name in self.given or name in plugins(self.group)

    def __iter__(self) -> Iterator[str]:
        return iter({**self.given, **plugins(self.group)})

    def __len__(self) -> int:
        return len({*self})


def built(
    kind: str, known: Mapping[str, type[MethodT]], name: str, options: Mapping[str, Any] | None
) -> MethodT:
    """Make the method `name` with options; `kind` is the word for it in messages.

    Options have the types of JSON: neither "1" nor `true` is a number. Raises ConfigurationError
    for an unknown name, an unknown option or a value out of range.
    """
    if name not in known:
        raise ConfigurationError(f"no {kind} named {name!r}; there are {', '.join(known)}")
    try:
        as_json = to_json(dict(options or {}), inf_nan_mode="constants")
        return TypeAdapter(known[name]).validate_json(as_json, strict=True)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)
        )
        raise ConfigurationError(f"options of {kind} {name!r}: {problems}") from error
    except PydanticUserError:
        raise ConfigurationError(f"the {kind} {name!r} is not a dataclass of its options") from None


def options_of(method: object) -> str:
    """Return the options of a method as JSON; "{}" if it is not a dataclass."""
    if is_dataclass(method) and not isinstance(method, type):
        return json.dumps(asdict(method), sort_keys=True)
    return "{}"


def as_asked(method: MethodT, query: Query) -> MethodT:
    """Return a defence with the `withstand` of a query, if both have one."""
    if query.withstand is None or not hasattr(method, "withstand"):
        return method
    return replace(method, withstand=query.withstand)  # type: ignore[type-var]
