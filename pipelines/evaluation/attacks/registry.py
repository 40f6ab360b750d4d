"""The attacks by the names that schedules and reports use."""

from functools import partial

from radarstream.pipelines.evaluation.attacks.adaptive import (
    conditional_answer,
    either_answer,
    scorer_aware_injection,
)
from radarstream.pipelines.evaluation.attacks.hijack import hijack
from radarstream.pipelines.evaluation.attacks.jamming import (
    FALSE_INFORMATION,
    HARMFUL_CONTENT,
    NOT_ENOUGH_INFORMATION,
    jamming,
    refusal_target,
)
from radarstream.pipelines.evaluation.attacks.multihop import multihop
from radarstream.pipelines.evaluation.attacks.planted_falsehood import (
    long_planted_falsehood,
    planted_falsehood,
)
from radarstream.pipelines.evaluation.attacks.poisoned_rag import poisoned_rag
from radarstream.pipelines.evaluation.attacks.prompt_injection import (
    long_prompt_injection,
    prompt_injection,
)
from radarstream.pipelines.evaluation.attacks.protocol import Attack, Surface, wanted
from radarstream.pipelines.evaluation.attacks.question_injection import question_injection
from radarstream.pipelines.evaluation.attacks.stale import (
    has_former_answer,
    stale_replay,
    stale_target,
)
from radarstream.pipelines.evaluation.attacks.variations import VARIATIONS, taking_turns
from radarstream.schemas.errors import ConfigurationError


def _jamming(name: str, refusal: str) -> Attack:
    target = partial(refusal_target, refusal)
    return Attack(name, partial(jamming, refusal), Surface.CORPUS, target=target)


_METHODS = (poisoned_rag, question_injection, hijack)

_ALL = (
    Attack("pia", prompt_injection),
    Attack("poison", planted_falsehood),
    Attack("pia-long", long_prompt_injection),
    Attack("poison-long", long_planted_falsehood),
    Attack("a-or-b", either_answer),
    Attack("conditional", conditional_answer),
    Attack("stale", stale_replay, target=stale_target, ready=has_former_answer),
    Attack("poisonedrag", poisoned_rag, Surface.CORPUS),
    Attack("injection", question_injection, Surface.CORPUS),
    Attack("hijack", hijack, Surface.CORPUS),
    _jamming("jamming", FALSE_INFORMATION),
    _jamming("jamming-harm", HARMFUL_CONTENT),
    _jamming("jamming-information", NOT_ENOUGH_INFORMATION),
    Attack("multihop", multihop, Surface.CORPUS, several=4),
    Attack("scorer-aware", scorer_aware_injection, Surface.CORPUS),
    Attack("several", partial(taking_turns, _METHODS), Surface.CORPUS, several=15),
)

ATTACKS: dict[str, Attack] = {attack.name: attack for attack in _ALL}


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
        return VARIATIONS[variation](attack_named(base))
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
