"""ATTRIBUTORS: every way to say who taught a lie, by name."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from radarstream.defenses.attribution.context_cite import ContextCite
from radarstream.defenses.attribution.keyword_match import KeywordMatch
from radarstream.defenses.attribution.leave_one_out import LeaveOneOut
from radarstream.defenses.attribution.norm import Norm
from radarstream.defenses.attribution.perplexity import Perplexity
from radarstream.defenses.attribution.pfdnn import Pfdnn
from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.rag_forensics import RagForensics
from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.schemas.errors import ConfigurationError

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
    if name not in ATTRIBUTORS:
        known = ", ".join(ATTRIBUTORS)
        raise ConfigurationError(f"no attributor named {name!r}; there are {known}")
    try:
        return TypeAdapter(ATTRIBUTORS[name]).validate_python(dict(options or {}))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)
        )
        raise ConfigurationError(f"options of attributor {name!r}: {problems}") from error
