"""The attacks by the names that schedules and reports use."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from radarstream.lab.attacks import texts
from radarstream.lab.attacks.protocol import Aim, Attack, Surface, wanted
from radarstream.lab.attacks.variations import VARIATIONS
from radarstream.lab.attacks.whitebox.registry import WHITE_BOX
from radarstream.schemas.errors import ConfigurationError


def _repeating(
    name: str,
    sentence: Callable[[Aim], str],
    joint: str = " ",
    times: int = texts.REPETITIONS,
    **more: Any,
) -> Attack:
    return Attack(name, partial(texts.repeated, sentence, times, joint), **more)


def _jamming(name: str, refusal: str) -> Attack:
    return Attack(
        name,
        partial(texts.in_turn, texts.refusals(refusal)),
        Surface.CORPUS,
        target=partial(texts.refusal_target, refusal),
    )


_LONG = texts.LONG_FORM_REPETITIONS
_injection = partial(texts.in_turn, texts.ORDERS)
_hijack = partial(texts.in_turn, texts.HIJACKS)
_three_methods = partial(texts.taking_turns, (texts.poisoned_rag, _injection, _hijack))

ATTACKS: dict[str, Attack] = {
    attack.name: attack
    for attack in (
        _repeating("pia", texts.injection),
        _repeating("poison", texts.falsehood, "\n"),
        _repeating("claim", texts.claim, times=1),
        _repeating("pia-long", texts.injection_between_prompts, "\n", _LONG),
        _repeating("poison-long", texts.falsehood, "\n", _LONG),
        _repeating("a-or-b", texts.either_answer),
        _repeating("conditional", texts.conditional_answer),
        _repeating(
            "stale",
            texts.stale_claim,
            "\n",
            target=texts.stale_target,
            ready=texts.has_former_answer,
        ),
        Attack("poisonedrag", texts.poisoned_rag, Surface.CORPUS),
        Attack("injection", _injection, Surface.CORPUS),
        Attack("hijack", _hijack, Surface.CORPUS),
        _jamming("jamming", texts.FALSE_INFORMATION),
        _jamming("jamming-harm", texts.HARMFUL_CONTENT),
        _jamming("jamming-information", texts.NOT_ENOUGH_INFORMATION),
        Attack("multihop", texts.multihop, Surface.CORPUS, several=4),
        _repeating("scorer-aware", texts.against_the_scorer, times=1, surface=Surface.CORPUS),
        Attack("several", _three_methods, Surface.CORPUS, several=15),
    )
}


def attack_named(name: str) -> Attack:
    """The attack of that name, or a variation on one, such as `poisonedrag-benign`.

    Raises ConfigurationError when there is none.

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
