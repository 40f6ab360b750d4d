"""Lists as they are typed, of contenders and conditions: names with options, such as
`radar:pair_scale=0.3`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from radarstream.pipelines.settings.loading import option
from radarstream.schemas.errors import ConfigurationError

ALL = "all"


@dataclass(frozen=True, slots=True)
class Spec:
    """A method with its options. `name` is its heading, unique in a study. `how` is the way in
    which it is applied: an adaptation to time, or the reranker that it stands behind.
    """

    name: str
    method: str
    options: tuple[tuple[str, Any], ...] = ()
    how: str = ""

    @staticmethod
    def of(text: str) -> "Spec":
        """Read a spec. Raises ConfigurationError.

        >>> Spec.of("radar:pair_scale=0.30").name
        'radar:pair_scale=0.3'
        """
        method, _, rest = text.partition(":")
        options = tuple(option(part) for part in rest.split(",") if part)
        return Spec(heading(method, options), method, options)


def heading(method: str, options: Iterable[tuple[str, Any]]) -> str:
    """A name with its options, as a spec has them."""
    settings = ",".join(f"{name}={plain(value)}" for name, value in options)
    return f"{method}:{settings}" if settings else method


def expanded(
    text: str, families: Mapping[str, Iterable[str]], always: Iterable[str] = ()
) -> list[str]:
    """The specs of a list, each once, with those in place of a word that stands for a family;
    `always` come first.

    >>> expanded("all,b", {"all": ["a", "b"]}, always=["none"])
    ['none', 'a', 'b']
    """
    found = list(always)
    for spec in split_specs(text):
        found += families.get(spec, [spec])
    return list(dict.fromkeys(found))


def parse_specs(
    text: str,
    check: Callable[[Spec], object],
    families: Mapping[str, Iterable[str]],
    always: Iterable[str] = (),
) -> tuple[Spec, ...]:
    """Read a list of methods, each once. Raises ConfigurationError, also that of the check."""
    specs = {spec.name: spec for spec in map(Spec.of, expanded(text, families, always))}
    for spec in specs.values():
        check(spec)
    return tuple(specs.values())


def servable(
    contenders: Iterable[Spec], check: Callable[[Spec], object], insisted: str
) -> tuple[tuple[Spec, ...], tuple[str, ...]]:
    """The contenders that pass a check, and notes on those left out. Raises the check's
    ConfigurationError for one that has options, or that `insisted`, the list it came from, names by
    itself; and where none is left.
    """
    named = {*split_specs(insisted)}
    kept: list[Spec] = []
    notes: list[str] = []
    for one in contenders:
        try:
            check(one)
        except ConfigurationError as error:
            if one.name in named or one.options:
                raise
            notes.append(f"{one.name} is left out: {error}")
        else:
            kept.append(one)
    if not kept:
        raise ConfigurationError("; ".join(["no method is left to evaluate", *notes]))
    return tuple(kept), tuple(notes)


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


def plain(value: Any) -> str:
    """An option's value as it is written in a spec."""
    return str(value).lower() if isinstance(value, bool) else str(value)
