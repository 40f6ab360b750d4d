"""Every attributor by name."""

from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.defenses.options import Registry
from radarstream.defenses.protocol import Attributor

ATTRIBUTORS: Registry[Attributor] = Registry(
    "attributors",
    {
        "rag_origin": RagOrigin,
    },
)
build_attributor = ATTRIBUTORS.build
