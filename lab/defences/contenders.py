"""Contenders from what the command line says: defences, options, adaptations, variations.

The grammar of a list, such as `radar,radar:pair_scale=0.3,on_empty=abstain,vanilla+cumulative`:

    list   = spec { "," spec }
    spec   = ( defence | "production" ) [ ":" option { "," option } ] [ "+" how ]
    option = name "=" value             value as in TOML; a bare word is text
    how    = "none" | "lightweight" | "cumulative" [ "-" documents ]

Options are those of the defence. `production` is what `run` and `replay` do with the present
settings: their defence and its options.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, get_type_hints

from radarstream.defenses.protocol import Defense
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.lab.methods.temporal import adapt
from radarstream.lab.study.datasets import Dataset
from radarstream.lab.study.specs import ALL, Spec, expanded, heading
from radarstream.pipelines.build import defense_options
from radarstream.pipelines.settings import DefenseSettings
from radarstream.schemas.errors import ConfigurationError

PRODUCTION = "production"
ALONE = "none"  # the adaptation that shows every snapshot alone
POOLED = "cumulative"
_HOW = re.compile(rf"{ALONE}|lightweight|{POOLED}(-[1-9]\d*)?")


def parse_contenders(text: str, settings: DefenseSettings | None = None) -> list[Spec]:
    """Read a list of specs; `all` stands for every defence with its defaults, `production` for the
    one that is set, as it is set. Raises ConfigurationError for what cannot be read, for options
    that the defence refuses, and for `production` where there are no settings.

    >>> [c.name for c in parse_contenders("radar:pair_scale=0.3,on_empty=abstain,vanilla")]
    ['radar:pair_scale=0.3,on_empty=abstain', 'vanilla']
    """
    contenders: dict[Spec, None] = {}
    for spec in expanded(text, {ALL: DEFENSES}):
        body, plus, how = spec.rpartition("+")
        is_adapted = bool(plus and _HOW.fullmatch(how))
        read = Spec.of(body if is_adapted else spec)
        if read.method == PRODUCTION:
            read = in_production(settings, read.options)
        built(read)
        contenders[over_time(read, how) if is_adapted else read] = None
    return list(contenders)


def in_production(
    settings: DefenseSettings | None, options: Iterable[tuple[str, Any]] = ()
) -> Spec:
    """What the job does with these settings, under its short name; further options win. Raises
    ConfigurationError.
    """
    if settings is None:
        raise ConfigurationError(f"{PRODUCTION!r} needs settings, which there are none of here")
    chosen = dict(options)
    known = {**defense_options(settings), **chosen}
    return Spec(heading(PRODUCTION, chosen.items()), settings.name, tuple(known.items()))


def notes_on_production(contenders: Iterable[Spec]) -> tuple[str, ...]:
    """What the short names stand for."""
    named = {c.name.removesuffix(f"+{c.how}"): c for c in contenders}
    return tuple(
        f"{alias} is {heading(one.method, one.options)}: what `run` and `replay` do with these "
        "settings" + ("" if alias == PRODUCTION else ", but for the options that it names")
        for alias, one in named.items()
        if alias.partition(":")[0] == PRODUCTION
    )


def over_time(contender: Spec, how: str) -> Spec:
    """The contender with an adaptation to time such as `none` or `cumulative-20`. A defence without
    a memory of its own is the same with and without adaptation `none`. Raises ConfigurationError
    for another.
    """
    if not _HOW.fullmatch(how):
        raise ConfigurationError(
            f"no adaptation {how!r}; there are none, lightweight, cumulative and cumulative-20"
        )
    if how == ALONE and not remembers(contender):
        return replace(contender, how=how)
    return replace(contender, name=f"{contender.name}+{how}", how=how)


def built(contender: Spec) -> Defense[Any]:
    """The defence with its options, before any adaptation. Raises ConfigurationError."""
    return build_defense(contender.method, dict(contender.options))


def adapted(contender: Spec) -> Defense[Any]:
    """The defence as it meets a history."""
    return adapt(built(contender), contender.how)


def is_pooling(contender: Spec) -> bool:
    """Whether it answers from the documents of all steps."""
    return contender.how.startswith(POOLED)


def remembers(contender: Spec) -> bool:
    """Whether the defence carries a state of its own from step to step; not where an option
    `memory` is off.
    """
    defense = built(contender)
    if getattr(defense, "memory", True) is False:
        return False
    return get_type_hints(type(defense).initial_state).get("return") is not type(None)


def spread_over_time(contenders: Iterable[Spec], ways: Sequence[str]) -> list[Spec]:
    """For histories: a static defence runs once per way to adapt it; one with a memory of its own
    runs with that, and otherwise only where its spec says so.
    """
    spread: dict[Spec, None] = {}
    for contender in contenders:
        if contender.how or remembers(contender):
            spread[contender] = None
        else:
            spread |= dict.fromkeys(over_time(contender, way) for way in ways)
    return list(spread)


def contenders_of(
    data: Dataset, settings: DefenseSettings, defenses: str, adaptations: Sequence[str]
) -> list[Spec]:
    """Everyone who competes, each once."""
    contenders = parse_contenders(defenses, settings)
    # Called for a data set without histories, too: it refuses unknown adaptations.
    spread = spread_over_time(contenders, adaptations)
    return contenders if data.static else list(dict.fromkeys(spread))
