"""The attacks by the names that schedules and reports use."""

from pipelines.evaluation.attacks.planted_falsehood import PlantedFalsehood
from pipelines.evaluation.attacks.prompt_injection import PromptInjection
from pipelines.evaluation.attacks.protocol import Attack

ATTACKS: dict[str, Attack] = {
    attack.name: attack for attack in (PromptInjection(), PlantedFalsehood())
}
