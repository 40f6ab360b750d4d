"""Contenders from what the command line says: defences, options, adaptations, variations.

list    = spec { "," spec }
spec    = defence [ ":" option { "," option } ] [ "+" adaptation ]
option  = name "=" value             value as in TOML; a bare word is text

radar,radar:pair_scale=0.3,on_empty=abstain,vanilla+cumulative
"""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, get_type_hints

from defenses.protocol import Defense, Signal
from defenses.registry import DEFENSES, build_defense
from pipelines.evaluation.experiment.records import Adaptation, Contender
from pipelines.signals.ports import Models
from pipelines.signals.token_probabilities import check_needs
from schemas.errors import ConfigurationError

ALL = "all"
NOISE = "noise="


def parse_contenders(text: str) -> list[Contender]:
    """Read a list of specs; `all` stands for every defence with its defaults.

    Raises ConfigurationError for what cannot be read and for options that the defence refuses.

    >>> [c.name for c in parse_contenders("radar:pair_scale=0.3,on_empty=abstain,vanilla")]
    ['radar:pair_scale=0.3,on_empty=abstain', 'vanilla']
    """
    contenders: list[Contender] = []
    for spec in split_specs(text):
        if spec == ALL:
            contenders += [Contender(name, name) for name in DEFENSES]
        else:
            contenders.append(parse_contender(spec))
    return without_repetition(contenders)


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


def parse_contender(spec: str) -> Contender:
    """Read one spec. Raises ConfigurationError."""
    body, plus, last = spec.rpartition("+")
    adaptation = Adaptation.OWN
    if plus and last in list(Adaptation):
        adaptation = Adaptation(last)
    else:
        body = spec
    name, _, rest = body.partition(":")
    options = tuple(option(part) for part in rest.split(",") if part)
    return checked(Contender(named(name, options, adaptation), name, options, adaptation))


def option(text: str) -> tuple[str, Any]:
    """Read `name=value`."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name or not value:
        raise ConfigurationError(f"cannot read option {text!r}; write it like pair_scale=0.3")
    return name, scalar(value)


def scalar(text: str) -> Any:
    """A TOML value, or the text itself where it is none.

    >>> scalar("0.3"), scalar("true"), scalar("abstain")
    (0.3, True, 'abstain')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def named(
    defense: str,
    options: Iterable[tuple[str, Any]],
    adaptation: Adaptation = Adaptation.OWN,
    relations: str = "",
) -> str:
    """The heading of a contender: its spec, with another relation scorer in brackets."""
    settings = ",".join(f"{name}={plain(value)}" for name, value in options)
    name = f"{defense}:{settings}" if settings else defense
    if adaptation is not Adaptation.OWN:
        name += f"+{adaptation}"
    return f"{name}[{relations}]" if relations else name


def plain(value: Any) -> str:
    """An option's value as it is written in a spec."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def checked(contender: Contender) -> Contender:
    """The contender, if its defence can be made. Raises ConfigurationError."""
    build_defense(contender.defense, dict(contender.options))
    return contender


def remembers(contender: Contender) -> bool:
    """Whether the defence carries a state of its own from step to step."""
    defense = build_defense(contender.defense, dict(contender.options))
    return get_type_hints(type(defense).initial_state).get("return") is not type(None)


def relates(contender: Contender) -> bool:
    """Whether the defence reads relations between answers."""
    return Signal.RELATIONS in needs_of(contender)


def needs_of(contender: Contender) -> frozenset[Signal]:
    """The signals the defence is given."""
    defense: Defense[Any] = build_defense(contender.defense, dict(contender.options))
    return defense.needs


def adapted_to_time(
    contenders: Iterable[Contender], adaptations: Sequence[Adaptation]
) -> list[Contender]:
    """For histories: a static defence runs once per adaptation; one with a memory of its own
    runs with that, and alone (`none`) only where its spec says so.
    """
    spread: list[Contender] = []
    for contender in contenders:
        if contender.adaptation is not Adaptation.OWN or remembers(contender):
            spread.append(contender)
            continue
        for adaptation in adaptations:
            shown = Adaptation.OWN if adaptation is Adaptation.NONE else adaptation
            name = named(contender.defense, contender.options, shown, contender.relations)
            spread.append(replace(contender, name=name, adaptation=adaptation))
    return without_repetition(spread)


def swept(text: str) -> list[Contender]:
    """Contenders of one sweep such as `radar.similarity_threshold=0.1,0.2`.

    Raises ConfigurationError.

    >>> [c.name for c in swept("radar.pair_scale=0.5,1")]
    ['radar:pair_scale=0.5', 'radar:pair_scale=1']
    """
    target, equals, values = text.partition("=")
    defense, dot, name = target.strip().partition(".")
    if not (equals and dot and name and values.strip()):
        raise ConfigurationError(
            f"cannot read sweep {text!r}; write it like radar.similarity_threshold=0.1,0.2"
        )
    contenders = []
    for value in values.split(","):
        options = (option(f"{name}={value}"),)
        contenders.append(checked(Contender(named(defense, options), defense, options)))
    return contenders


def with_relations(contenders: Iterable[Contender], relations: Sequence[str]) -> list[Contender]:
    """Copies of the contenders that read relations, one per other scorer or perturbation."""
    return [
        replace(c, name=named(c.defense, c.options, c.adaptation, scorer), relations=scorer)
        for c in contenders
        if relates(c)
        for scorer in relations
    ]


def servable(
    contenders: Iterable[Contender], models: Models, *, insisted: str
) -> tuple[list[Contender], list[str]]:
    """The contenders that the models can serve, and notes on those left out.

    Raises ConfigurationError for one that `insisted`, the list it came from, names by itself.
    """
    named_ones = {spec for spec in split_specs(insisted) if spec != ALL}
    kept, notes = [], []
    for contender in contenders:
        try:
            check_needs(build_defense(contender.defense, dict(contender.options)), models)
        except ConfigurationError as error:
            if contender.name in named_ones or contender.options:
                raise
            notes.append(f"{contender.name} is left out: {error}")
        else:
            kept.append(contender)
    return kept, notes


def without_repetition(contenders: Iterable[Contender]) -> list[Contender]:
    """Each contender once, in the order of first mention."""
    return list(dict.fromkeys(contenders))
