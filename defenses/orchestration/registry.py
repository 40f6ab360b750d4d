"""Every Sentinel and every Strategist by name."""

from collections.abc import Mapping
from typing import Any

from radarstream.defenses.options import built
from radarstream.defenses.orchestration.protocol import Sentinel, Strategist
from radarstream.defenses.orchestration.sentinel import ModelSentinel, RuleSentinel
from radarstream.defenses.orchestration.strategist import ModelStrategist, RuleStrategist

SENTINELS: dict[str, type[Sentinel]] = {"rules": RuleSentinel, "language_model": ModelSentinel}
STRATEGISTS: dict[str, type[Strategist]] = {
    "rules": RuleStrategist,
    "language_model": ModelStrategist,
}


def build_sentinel(name: str, options: Mapping[str, Any] | None = None) -> Sentinel:
    """Make a Sentinel by its name. Raises ConfigurationError on an unknown name or option."""
    return built("Sentinel", SENTINELS, name, options)


def build_strategist(name: str, options: Mapping[str, Any] | None = None) -> Strategist:
    """Make a Strategist by its name. Raises ConfigurationError on an unknown name or option."""
    return built("Strategist", STRATEGISTS, name, options)
