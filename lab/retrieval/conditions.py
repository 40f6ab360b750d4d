"""Conditions from what the command line says: attacks on a corpus, black-box and white-box."""

from collections.abc import Mapping
from dataclasses import fields, replace
from math import ceil

from radarstream.lab.attacks.protocol import BENIGN, Aim, Attack, Surface
from radarstream.lab.attacks.registry import ATTACKS, attack_named
from radarstream.lab.attacks.whitebox.crafting import Checkpoint, WhiteBox, craft
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.attacks.whitebox.registry import WHITE_BOX, white_box
from radarstream.lab.study.specs import ALL, Spec, expanded, heading
from radarstream.schemas.errors import ConfigurationError

BLACK, WHITE = "black-box", "white-box"  # families of attacks


def parse_conditions(text: str, budget: Mapping[str, int] | None = None) -> tuple[str, ...]:
    """Read a list of attacks on a corpus such as `poisonedrag-benign,hotflip:steps=10`. The words
    `black-box`, `white-box` and `all` stand for families; `benign` comes first and is never left
    out.

    `budget` are options that white-box attacks get which have them and do not say otherwise; they
    are part of the name. Raises ConfigurationError for what is no attack on a corpus, and for
    options that an attack refuses.

    >>> parse_conditions("poisonedrag,hotflip", {"steps": 5})
    ('benign', 'poisonedrag', 'hotflip:steps=5')
    """
    black = [name for name in ATTACKS if on_corpus(name)]
    families = {ALL: [*black, *WHITE_BOX], BLACK: black, WHITE: [*WHITE_BOX]}
    found = []
    for text_ in expanded(text, families, [BENIGN]):
        spec = Spec.of(text_)
        if spec.method in WHITE_BOX:
            found.append(budgeted(spec, budget or {}))
        elif text_ == BENIGN or on_corpus(text_):
            found.append(text_)
        else:
            raise ConfigurationError(
                f"no attack {text_!r} on a corpus; there are {', '.join(families[ALL])}; "
                f"{BLACK}, {WHITE} and {ALL} are families"
            )
    return tuple(dict.fromkeys(found))


def on_corpus(name: str) -> bool:
    """Whether a name is that of an attack that adds texts to a corpus."""
    try:
        return attack_named(name).surface is Surface.CORPUS
    except ConfigurationError:
        return False


def budgeted(spec: Spec, budget: Mapping[str, int]) -> str:
    """The spec of a white-box attack, with the parts of the budget that it has options for.

    An attack in cycles gets as many as hold the steps of the budget.
    """
    known = {field.name for field in fields(WHITE_BOX[spec.method])}  # type: ignore[arg-type]
    if "cycles" in known and "steps" in budget:
        in_a_cycle = max(1, getattr(white_box(spec.method), "retriever_steps", 1))
        budget = {**budget, "cycles": ceil(budget["steps"] / in_a_cycle)}
    options = {n: value for n, value in budget.items() if n in known} | dict(spec.options)
    white_box(spec.method, **options)
    return heading(spec.method, options.items())


def white_box_of(condition: str) -> WhiteBox | None:
    """The white-box attack of a condition; None where it is another."""
    spec = Spec.of(condition)
    return white_box(spec.method, **dict(spec.options)) if spec.method in WHITE_BOX else None


def crafted(
    condition: str, box: WhiteBox, aims: list[Aim], tools: Tools, seed: int, progress: Checkpoint
) -> Attack:
    """A white-box attack whose texts are written. Raises ConfigurationError, ModelError."""
    made = craft(box, aims, tools, seed=seed, progress=progress)
    return replace(made.attack, name=condition)
