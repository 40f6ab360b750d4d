"""The attacks by the names that schedules and reports use."""

from pipelines.evaluation.attacks.planted_falsehood import long_planted_falsehood, planted_falsehood
from pipelines.evaluation.attacks.prompt_injection import long_prompt_injection, prompt_injection
from pipelines.evaluation.attacks.protocol import Attack
from schemas.errors import ConfigurationError

_ALL = (
    Attack("pia", prompt_injection),
    Attack("poison", planted_falsehood),
    Attack("pia-long", long_prompt_injection),
    Attack("poison-long", long_planted_falsehood),
)

ATTACKS: dict[str, Attack] = {attack.name: attack for attack in _ALL}


def attack_named(name: str) -> Attack:
    """The attack of that name. Raises ConfigurationError when there is none."""
    if name not in ATTACKS:
        raise ConfigurationError(f"unknown attack {name!r}; there are {', '.join(sorted(ATTACKS))}")
    return ATTACKS[name]
