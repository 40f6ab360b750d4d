"""Every attributor by name."""

from collections.abc import Mapping
from typing import Any

from radarstream.defenses.attribution.ablations import ContextCite, LeaveOneOut
from radarstream.defenses.attribution.each_alone import KeywordMatch, RagForensics
from radarstream.defenses.attribution.pfdnn import Pfdnn
from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.defenses.attribution.thresholds import Norm, Perplexity
from radarstream.defenses.options import built

ATTRIBUTORS: dict[str, type[Attributor]] = {
    "rag_origin": RagOrigin,
    "rag_forensics": RagForensics,
    "norm": Norm,
    "perplexity": Perplexity,
    "keyword_match": KeywordMatch,
    "pfdnn": Pfdnn,
    "context_cite": ContextCite,
    "leave_one_out": LeaveOneOut,
}


def build_attributor(name: str, options: Mapping[str, Any] | None = None) -> Attributor:
    """Make an attributor by its name, with options named as its class names them.

    Raises ConfigurationError on an unknown name, an unknown option or a value out of range.
    """
    return built("attributor", ATTRIBUTORS, name, options)
