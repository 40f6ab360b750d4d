"""What kind of language model answered: told by its id, so that old results tell it too."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from radarstream.connectors.models.bundled import GEMMA
from radarstream.schemas.section import is_loopback


class Tier(StrEnum):
    """Kinds of language models, by what can be expected of their answers."""

    EMBEDDED = "embedded"
    LOCAL = "local"
    API = "api"
    SCRIPTED = "scripted"
    LABELS = "labels"
    UNKNOWN = "unknown"


LIMITED: Final = (
    "The embedded language model limits these answers: it has 270 million parameters, reads one "
    "page well and several badly. docs/models.md says how to take another."
)


def tier_of(model_id: str) -> Tier:
    """The kind of the language model with this id.

    >>> tier_of("openai/127.0.0.1:11434/qwen3:8b/0a1b2c3d/chat-r8").value, tier_of("mine").value
    ('local', 'unknown')
    """
    backend, _, rest = model_id.partition("/")
    match backend.partition(",")[0]:
        case "llama.cpp":
            return Tier.EMBEDDED if f"@{GEMMA.fingerprint}" in rest else Tier.LOCAL
        case "transformers":
            return Tier.LOCAL
        case "openai":
            host = urlsplit(f"http://{rest.partition('/')[0]}").hostname or ""
            return Tier.LOCAL if is_loopback(host) else Tier.API
        case "scripted":
            return Tier.SCRIPTED
        case "labels":
            return Tier.LABELS
    return Tier.UNKNOWN


def limits(models: Mapping[str, str]) -> tuple[str, ...]:
    """What a report says where its language model is the limit of its answers."""
    return (LIMITED,) if tier_of(models.get("generator", "")) is Tier.EMBEDDED else ()


def model_card(models: Mapping[str, str]) -> dict[str, str | None]:
    """The language model of results as JSON: its id, its kind, and what it limits."""
    model_id = models.get("generator", "")
    return {
        "id": model_id,
        "tier": tier_of(model_id).value,
        "limits": next(iter(limits(models)), None),
    }
