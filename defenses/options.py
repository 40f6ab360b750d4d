"""Methods by name, with options as their classes name them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from radarstream.schemas.errors import ConfigurationError

MethodT = TypeVar("MethodT")


def built(
    kind: str, known: Mapping[str, type[MethodT]], name: str, options: Mapping[str, Any] | None
) -> MethodT:
    """Make the method of this name; `kind` is what messages call it.

    Raises ConfigurationError on an unknown name, an unknown option or a value out of range.
    """
    if name not in known:
        raise ConfigurationError(f"no {kind} named {name!r}; there are {', '.join(known)}")
    try:
        return TypeAdapter(known[name]).validate_python(dict(options or {}))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)
        )
        raise ConfigurationError(f"options of {kind} {name!r}: {problems}") from error
