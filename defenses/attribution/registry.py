"""Every attributor by name."""

from collections.abc import Mapping
from typing import Any

from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.defenses.options import Registry, built

ATTRIBUTORS: Registry[Attributor] = Registry(
    "attributors",
    {
        "rag_origin": RagOrigin,
    },
)


def build_attributor(name: str, options: Mapping[str, Any] | None = None) -> Attributor:
    """Make an attributor by its name, with options named as its class names them.

    Raises ConfigurationError on an unknown name, an unknown option or a value out of range.
    """
    return built("attributor", ATTRIBUTORS, name, options)
