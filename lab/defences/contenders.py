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

from radarstream.defenses.protocol import Defense, RetrievalDefense, Signal
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.lab.defences.records import Adaptation, Contender
from radarstream.lab.methods.temporal import adapt
from radarstream.lab.study import specs
from radarstream.lab.study.datasets import Dataset
from radarstream.lab.study.record import SHARED
from radarstream.lab.study.specs import ALL, Spec, expanded, heading
from radarstream.pipelines.build import defense_options
from radarstream.pipelines.settings import DefenseSettings
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError

PRODUCTION = "production"
_HOW = re.compile(
    r"(?P<name>own|none|lightweight|cumulative)(?:(?<=cumulative)-(?P<pool>[1-9]\d*))?"
)


def parse_contenders(text: str, settings: DefenseSettings | None = None) -> list[Contender]:
    """Read a list of specs; `all` stands for every defence with its defaults, `production` for the
    one that is set, as it is set.

    Raises ConfigurationError for what cannot be read, for options that the defence refuses, and for
    `production` where there are no settings.

    >>> [c.name for c in parse_contenders("radar:pair_scale=0.3,on_empty=abstain,vanilla")]
    ['radar:pair_scale=0.3,on_empty=abstain', 'vanilla']
    """
    contenders: dict[Contender, None] = {}
    for spec in expanded(text, {ALL: DEFENSES}):
        body, plus, how = spec.rpartition("+")
        known = _HOW.fullmatch(how) if plus else None
        read = Spec.of(body if known else spec)
        if read.method == PRODUCTION:
            contender = in_production(settings, read.options)
        else:
            contender = renamed(Contender("", read.method, read.options))
        contenders[over_time(contender, how) if known else contender] = None
    return list(contenders)


def in_production(
    settings: DefenseSettings | None, options: Iterable[tuple[str, Any]] = ()
) -> Contender:
    """What the job does with these settings, under its short name; further options win.

    Raises ConfigurationError.
    """
    if settings is None:
        raise ConfigurationError(f"{PRODUCTION!r} needs settings, which there are none of here")
    chosen = dict(options)
    known = {**defense_options(settings), **chosen}
    alias = heading(PRODUCTION, chosen.items())
    return renamed(Contender("", settings.name, tuple(known.items()), alias=alias))


def notes_on_production(contenders: Iterable[Contender]) -> tuple[str, ...]:
    """What the short names stand for."""
    found = {c.alias: heading(c.defense, c.options) for c in contenders if c.alias}
    return tuple(
        f"{alias} is {spec}: what `run` and `replay` do with these settings"
        + ("" if alias == PRODUCTION else ", but for the options that it names")
        for alias, spec in found.items()
    )


def over_time(contender: Contender, how: str) -> Contender:
    """The contender with an adaptation to time such as `none` or `cumulative-20`.

    Raises ConfigurationError for another.
    """
    match = _HOW.fullmatch(how)
    if match is None:
        raise ConfigurationError(
            f"no adaptation {how!r}; there are none, lightweight, cumulative and cumulative-20"
        )
    pool = int(match["pool"]) if match["pool"] else None
    adaptation = Adaptation(match["name"])
    return renamed(replace(contender, adaptation=adaptation, pool=pool))


def renamed(contender: Contender) -> Contender:
    """The contender under its heading. A defence without a memory of its own is the same with and
    without adaptation `none`.
    """
    name = contender.alias or heading(contender.defense, contender.options)
    same = (Adaptation.OWN,) if remembers(contender) else (Adaptation.OWN, Adaptation.NONE)
    if contender.adaptation not in same:
        name += f"+{contender.adaptation}"
        name += f"-{contender.pool}" if contender.pool else ""
    return replace(contender, name=name)


def built(contender: Contender) -> Defense[Any]:
    """The defence with its options, before any adaptation. Raises ConfigurationError."""
    return build_defense(contender.defense, dict(contender.options))


def adapted(contender: Contender) -> Defense[Any]:
    """The defence as it meets a history."""
    return adapt(built(contender), contender.adaptation, context=contender.pool)


def remembers(contender: Contender) -> bool:
    """Whether the defence carries a state of its own from step to step; not where an option
    `memory` is off.
    """
    defense = built(contender)
    if getattr(defense, "memory", True) is False:
        return False
    return get_type_hints(type(defense).initial_state).get("return") is not type(None)


def needs_of(contender: Contender) -> frozenset[Signal]:
    """The signals the defence is given."""
    return built(contender).needs


def spread_over_time(contenders: Iterable[Contender], ways: Sequence[str]) -> list[Contender]:
    """For histories: a static defence runs once per way to adapt it; one with a memory of its own
    runs with that, and otherwise only where its spec says so.
    """
    spread: dict[Contender, None] = {}
    for contender in contenders:
        if contender.adaptation is not Adaptation.OWN or remembers(contender):
            spread[contender] = None
        else:
            spread |= dict.fromkeys(over_time(contender, way) for way in ways)
    return list(spread)


def servable(
    contenders: Sequence[Contender], models: Models, *, insisted: str
) -> tuple[list[Contender], list[str]]:
    """The contenders that the models can serve, and notes on those left out.

    Raises ConfigurationError for one that `insisted`, the list it came from, names by itself.
    """
    return specs.servable(contenders, lambda one: check_needs(built(one), models), insisted)


def modules_of(contender: Contender, reranker: RetrievalDefense | None = None) -> list[str]:
    """The code between models and verdict: the modules of the contender's defence, of the reranker,
    of time, of signals and of requests. Raises ConfigurationError for a contender that cannot be
    built.
    """
    methods = [built(contender), *([] if reranker is None else [reranker])]
    return [*(type(method).__module__ for method in methods), *SHARED]


def contenders_of(
    data: Dataset,
    settings: DefenseSettings,
    defenses: str,
    adaptations: Sequence[str],
) -> tuple[Contender, ...]:
    """Everyone who competes, each once."""
    contenders = parse_contenders(defenses, settings)
    # Called for a data set without histories, too: it refuses unknown adaptations.
    spread = spread_over_time(contenders, adaptations)
    return tuple(dict.fromkeys(contenders if data.static else spread))
