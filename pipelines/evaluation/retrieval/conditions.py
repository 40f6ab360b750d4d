"""Conditions from what the command line says: attacks on a corpus, black-box and white-box."""

from collections.abc import Mapping
from dataclasses import fields, replace
from math import ceil
from typing import Any

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN, Aim, Attack, Surface
from radarstream.pipelines.evaluation.attacks.registry import ATTACKS, attack_named
from radarstream.pipelines.evaluation.attacks.whitebox.crafting import Progress, craft
from radarstream.pipelines.evaluation.attacks.whitebox.encoder import Tools
from radarstream.pipelines.evaluation.attacks.whitebox.protocol import WhiteBox
from radarstream.pipelines.evaluation.attacks.whitebox.registry import WHITE_BOX, white_box
from radarstream.pipelines.evaluation.study.specs import ALL, option, plain, split_specs
from radarstream.schemas.errors import ConfigurationError

BLACK, WHITE = "black-box", "white-box"  # families of attacks


def parse_conditions(text: str, budget: Mapping[str, int] | None = None) -> tuple[str, ...]:
    """Read a list of attacks on a corpus such as `poisonedrag-benign,hotflip:steps=10`. The words
    `black-box`, `white-box` and `all` stand for families; `benign` comes first and is never left
    out.

    `budget` are options that white-box attacks get which have them and do not say otherwise; they
    are part of the name. Raises ConfigurationError for what cannot be read, for options that an
    attack refuses and for attacks that are not on a corpus.

    >>> parse_conditions("poisonedrag,hotflip", {"steps": 5})
    ('benign', 'poisonedrag', 'hotflip:steps=5')
    """
    found = [BENIGN]
    for spec in split_specs(text):
        if spec in (ALL, BLACK):
            found += [attack.name for attack in ATTACKS.values() if on_corpus(attack)]
        if spec in (ALL, WHITE):
            found += [budgeted(name, budget or {}) for name in WHITE_BOX]
        if spec in (ALL, BLACK, WHITE, BENIGN):
            continue
        if spec.partition(":")[0] in WHITE_BOX:
            found.append(budgeted(spec, budget or {}))
            continue
        names = [*(a.name for a in ATTACKS.values() if on_corpus(a)), *WHITE_BOX]
        listed = (
            f"attacks on a corpus are {', '.join(names)}; {BLACK}, {WHITE} and {ALL} are families"
        )
        try:
            attack = attack_named(spec)
        except ConfigurationError as error:
            raise ConfigurationError(f"unknown attack {spec!r}; {listed}") from error
        if not on_corpus(attack):
            raise ConfigurationError(f"{spec} plants texts in a result list; {listed}")
        found.append(spec)
    return tuple(dict.fromkeys(found))


def on_corpus(attack: Attack) -> bool:
    """Whether an attack adds texts to a corpus."""
    return attack.surface is Surface.CORPUS


def budgeted(spec: str, budget: Mapping[str, int]) -> str:
    """The spec of a white-box attack, with the parts of the budget that it has options for.

    An attack in cycles gets as many as hold the steps of the budget.
    """
    name, _, rest = spec.partition(":")
    options: dict[str, Any] = dict(option(part) for part in rest.split(",") if part)
    known = {field.name for field in fields(WHITE_BOX[name])}  # type: ignore[arg-type]
    if "cycles" in known and "steps" in budget:
        in_a_cycle = max(1, getattr(white_box(name), "retriever_steps", 1))
        budget = {**budget, "cycles": ceil(budget["steps"] / in_a_cycle)}
    options = {n: value for n, value in budget.items() if n in known} | options
    white_box(name, **options)
    settings = ",".join(f"{n}={plain(value)}" for n, value in options.items())
    return f"{name}:{settings}" if settings else name


def white_box_of(condition: str) -> WhiteBox | None:
    """The white-box attack of a condition; None where it is another."""
    name, _, rest = condition.partition(":")
    if name not in WHITE_BOX:
        return None
    return white_box(name, **dict(option(part) for part in rest.split(",") if part))


def crafted(
    condition: str, box: WhiteBox, aims: list[Aim], tools: Tools, seed: int, progress: Progress
) -> Attack:
    """A white-box attack whose texts are written. Raises ConfigurationError, ModelError."""
    made = craft(box, aims, tools, seed=seed, progress=progress)
    return replace(made.attack, name=condition)
