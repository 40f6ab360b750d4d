"""The attacks on a service by the names that studies and reports use."""

from typing import Final

from radarstream.defenses.options import built
from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.attacks.service.masked_questions import MaskedQuestions
from radarstream.lab.attacks.service.protocol import ServiceAttack
from radarstream.lab.attacks.service.streams import (
    Benign,
    ContextLeakage,
    Jailbreak,
    Poisoning,
    TrustFarming,
)
from radarstream.lab.study.specs import ALL, Spec, expanded

SERVICE_ATTACKS: Final[dict[str, type[ServiceAttack]]] = {
    BENIGN: Benign,
    "mba": MaskedQuestions,
    "leakage": ContextLeakage,
    "poisoning": Poisoning,
    "jailbreak": Jailbreak,
    "farming": TrustFarming,
}
EVERY: Final = (
    "mba",
    "mba:each=true",
    "mba:each=true,users=many",
    "mba:wording=next,users=many",
    "leakage",
    "poisoning",
    "jailbreak",
    "jailbreak:where=documents",
    "farming:pace=fast",
    "farming:pace=slow",
)  # what `all` stands for


def service_attack(spec: str) -> ServiceAttack:
    """The attack of a spec such as `farming:pace=slow`. Raises ConfigurationError."""
    read = Spec.of(spec)
    return built("attack on a service", SERVICE_ATTACKS, read.method, dict(read.options))


def parse_streams(text: str) -> tuple[str, ...]:
    """Read a list of attacks; `benign` comes first and is never left out. Raises
    ConfigurationError.

    >>> parse_streams("mba,farming:pace=slow,run_up=3")
    ('benign', 'mba', 'farming:pace=slow,run_up=3')
    """
    specs = expanded(text, {ALL: EVERY}, [BENIGN])
    for spec in specs:
        service_attack(spec)
    return tuple(dict.fromkeys(Spec.of(spec).name for spec in specs))
