"""Every defence, attributor and reranker by name.

`build_…` makes one with the options of its class. It raises ConfigurationError for an unknown name
or option, or a value out of range.

>>> build_defense("radar", {"pair_scale": 0.3}).pair_scale
0.3
"""

from typing import Any

from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.defenses.majority import Majority
from radarstream.defenses.options import Registry
from radarstream.defenses.protocol import Attributor, Defense, RetrievalDefense
from radarstream.defenses.radar import Radar
from radarstream.defenses.reliability_rag import ReliabilityRag
from radarstream.defenses.retrieval.grada import Grada
from radarstream.defenses.robust_rag import RobustRag
from radarstream.defenses.trust_rag import TrustRag, TrustRagFilter
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
ATTRIBUTORS: Registry[Attributor] = Registry("attributors", {"rag_origin": RagOrigin})
RERANKERS: Registry[RetrievalDefense] = Registry(
    "rerankers", {"grada": Grada, "trust_rag": TrustRagFilter}
)

build_defense = DEFENSES.build
build_attributor = ATTRIBUTORS.build
build_reranker = RERANKERS.build
