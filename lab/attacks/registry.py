"""The attacks by the names that schedules and reports use."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from radarstream.defenses.options import built
from radarstream.lab.attacks import texts
from radarstream.lab.attacks.protocol import Aim, Attack, Surface, wanted
from radarstream.lab.attacks.variations import VARIATIONS
from radarstream.lab.attacks.whitebox.crafting import WhiteBox
from radarstream.lab.attacks.whitebox.on_all import AgentPoison, BadRag, CorpusKmeans, Phantom
from radarstream.lab.attacks.whitebox.on_question import Evasive, HotFlip, JointGcg, Liar
from radarstream.schemas.errors import ConfigurationError

ATTACKS: dict[str, Attack] = {}
WHITE_BOX: dict[str, type[WhiteBox]] = {
    box.name: box
    for box in (HotFlip, Liar, JointGcg, BadRag, Phantom, AgentPoison, CorpusKmeans, Evasive)
}


def _attack(name: str, row: Mapping[str, Any]) -> Attack:
    """The attack of a table of `texts.toml`."""
    several, on_corpus = row.get("several", 5), Surface.CORPUS
    if methods := row.get("methods"):
        taking = partial(texts.taking_turns, [ATTACKS[method].texts for method in methods])
        return Attack(name, taking, on_corpus, several=several)
    if refusal := row.get("refusal"):
        orders = [f"{{question}} {wording}" for wording in texts.refusals(refusal)]
        # The refusal is what the attacker wants, whatever target the data name.
        return Attack(
            name, partial(texts.written, orders), on_corpus, target=partial(_refused, refusal)
        )
    if turns := row.get("turns"):
        return Attack(name, partial(texts.written, turns), on_corpus, several=several)
    how = {option: row[option] for option in ("times", "joint") if option in row}
    attack = Attack(name, partial(texts.written, [row["text"]], **how))
    if "{stale}" in row["text"]:
        return replace(attack, target=texts.stale_target, ready=_has_stale)
    return attack


def _refused(refusal: str, _: Aim) -> str:
    return refusal


def _has_stale(aim: Aim) -> bool:
    return bool(texts.stale_target(aim))


for _name, _row in texts.WORDINGS["attack"].items():
    ATTACKS[_name] = _attack(_name, _row)


def attack_named(name: str) -> Attack:
    """The attack of that name, or a variation on one, such as `poisonedrag-benign`. Raises
    ConfigurationError when there is none.

    >>> attack_named("poisonedrag-benign-removal").removes_answers
    True
    """
    if name in ATTACKS:
        return ATTACKS[name]
    base, _, variation = name.rpartition("-")
    if base and variation in VARIATIONS:
        return replace(VARIATIONS[variation](attack_named(base)), name=name)
    if name in WHITE_BOX:
        raise ConfigurationError(
            f"{name} plants texts that are written beforehand, with the weights of the retriever"
        )
    raise ConfigurationError(
        f"unknown attack {name!r}; there are {', '.join(sorted(ATTACKS))}; variations of each end "
        f"in {', '.join('-' + variation for variation in VARIATIONS)}"
    )


def has_own_target(name: str) -> bool:
    """Whether an attack wants another answer than the target that the data name; False for names
    that are no attack's.
    """
    try:
        return attack_named(name).target is not wanted
    except ConfigurationError:
        return False


def white_box(name: str, **options: Any) -> WhiteBox:
    """The white-box attack of that name with these options. Raises ConfigurationError.

    >>> white_box("hotflip", steps=5).steps
    5
    """
    return built("white-box attack", WHITE_BOX, name, options)
