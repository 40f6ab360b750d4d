"""Specs of contenders as they are typed: a name with options, such as `radar:pair_scale=0.3`."""

import tomllib
from typing import Any

from radarstream.schemas.errors import ConfigurationError

ALL = "all"


def split_specs(text: str) -> list[str]:
    """Cut at commas; a part like `name=value` goes on with the options of the spec before it."""
    specs: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        head, equals, _ = part.partition("=")
        if specs and equals and ":" not in head:
            specs[-1] += f",{part}"
        elif part:
            specs.append(part)
    return specs


def option(text: str) -> tuple[str, Any]:
    """Read `name=value`."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise ConfigurationError(f"cannot read option {text!r}; write it like pair_scale=0.3")
    return name, scalar(value)


def scalar(text: str) -> bool | int | float | str:
    """A TOML boolean, number or string, or the text itself where it is none.

    >>> scalar("0.3"), scalar("true"), scalar("abstain")
    (0.3, True, 'abstain')
    """
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, too many digits, too deep
        return text
    return value if isinstance(value, bool | int | float | str) else text


def plain(value: Any) -> str:
    """An option's value as it is written in a spec."""
    return str(value).lower() if isinstance(value, bool) else str(value)
