"""Every defence by name."""

from typing import Any

from radarstream.defenses.majority import Majority
from radarstream.defenses.options import Registry
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
build_defense = DEFENSES.build
