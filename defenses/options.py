"""Methods by name, with options as their classes name them."""

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
    """Methods by name: those given, and the plug-ins of a group, imported when they are looked up.

    >>> "radar" in Registry("defences", {})
    False
    """

    def __init__(self, group: str, given: Mapping[str, type[MethodT]], kind: str = "") -> None:
        self.group, self.given = group, dict(given)
        self.kind = kind or group.removesuffix("s")  # what messages call one of them

    def __getitem__(self, name: str) -> type[MethodT]:
        if name in self.given:
            return self.given[name]
        if name not in plugins(self.group):
            raise KeyError(name)
        method: type[MethodT] = load_plugin(self.group, name)
        return method

    def build(self, name: str, options: Mapping[str, Any] | None = None) -> MethodT:
        """Make the method of this name, see `built`."""
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
    """Make the method of this name; `kind` is what messages call it.

    Options are taken as they are in JSON: a number in quotes is no number, and neither is `true`.
    Raises ConfigurationError on an unknown name, an unknown option or a value out of range.
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
        raise ConfigurationError(f"the {kind} {name!r} is no dataclass of its options") from None


def options_of(method: object) -> str:
    """The options of a method as JSON; those of what is no dataclass are not known."""
    if is_dataclass(method) and not isinstance(method, type):
        return json.dumps(asdict(method), sort_keys=True)
    return "{}"


def as_asked(method: MethodT, query: Query) -> MethodT:
    """A defence with what a query says of `withstand`, if it has that option."""
    if query.withstand is None or not hasattr(method, "withstand"):
        return method
    return replace(method, withstand=query.withstand)  # type: ignore[type-var]
