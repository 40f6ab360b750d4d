"""Every defence by name."""

from collections.abc import Mapping
from typing import Any

from radarstream.defenses.majority import Majority
from radarstream.defenses.options import Registry, built
from radarstream.defenses.protocol import Defense
from radarstream.defenses.radar import Radar
from radarstream.defenses.reliability_rag import ReliabilityRag
from radarstream.defenses.robust_rag import RobustRag
from radarstream.defenses.trust_rag import TrustRag
from radarstream.defenses.vanilla import Vanilla
from radarstream.defenses.voices import Voices

DEFENSES: Registry[Defense[Any]] = Registry(
    "defences",
    {
        "majority": Majority,
        "radar": Radar,
        "reliability_rag": ReliabilityRag,
        "robust_rag": RobustRag,
        "trust_rag": TrustRag,
        "vanilla": Vanilla,
        "voices": Voices,
    },
)


def build_defense(name: str, options: Mapping[str, Any] | None = None) -> Defense[Any]:
    """Make a defence by its name, with options named as its class names them.

    Raises ConfigurationError on an unknown name, an unknown option or a value out of range.

    >>> build_defense("radar", {"pair_scale": 0.3}).pair_scale
    0.3
    """
    return built("defence", DEFENSES, name, options)
