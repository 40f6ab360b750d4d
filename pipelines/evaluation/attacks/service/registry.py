"""The attacks on a service by the names that studies and reports use."""

from typing import Any, Final

from pydantic import ValidationError

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.attacks.service.benign import Benign
from radarstream.pipelines.evaluation.attacks.service.farming import TrustFarming
from radarstream.pipelines.evaluation.attacks.service.jailbreak import Jailbreak
from radarstream.pipelines.evaluation.attacks.service.leakage import ContextLeakage
from radarstream.pipelines.evaluation.attacks.service.masked_questions import MaskedQuestions
from radarstream.pipelines.evaluation.attacks.service.poisoning import Poisoning
from radarstream.pipelines.evaluation.attacks.service.protocol import ServiceAttack
from radarstream.pipelines.evaluation.study.specs import ALL, option, plain, split_specs
from radarstream.schemas.errors import ConfigurationError

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
    name, _, rest = spec.partition(":")
    if name not in SERVICE_ATTACKS:
        known = ", ".join(SERVICE_ATTACKS)
        raise ConfigurationError(f"no attack {name!r} on a service; there are {known}, and {ALL}")
    options: dict[str, Any] = dict(option(part) for part in rest.split(",") if part)
    try:
        return SERVICE_ATTACKS[name](**options)
    except (TypeError, ValidationError) as error:
        told = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise ConfigurationError(f"options of {name}: {told}") from None


def parse_streams(text: str) -> tuple[str, ...]:
    """Read a list of attacks; `benign` comes first and is never left out. Raises
    ConfigurationError.

    >>> parse_streams("mba,farming:pace=slow,run_up=3")
    ('benign', 'mba', 'farming:pace=slow,run_up=3')
    """
    found = [BENIGN]
    for spec in split_specs(text):
        if spec == ALL:
            found += EVERY
            continue
        service_attack(spec)
        name, _, rest = spec.partition(":")
        options = dict(option(part) for part in rest.split(",") if part)
        settings = ",".join(f"{key}={plain(value)}" for key, value in options.items())
        found.append(f"{name}:{settings}" if settings else name)
    return tuple(dict.fromkeys(found))
