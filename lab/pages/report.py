"""A report: one HTML file with styles and scripts in it, its settings without secrets, and the kind
of its language model, by the id, so that old results have it too.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from markupsafe import Markup

from radarstream.connectors.models.bundled import GEMMA, licences
from radarstream.lab.study.frame import words_of
from radarstream.pipelines.pages import frame
from radarstream.schemas.section import is_loopback

WORDS: Final[dict[str, str]] = words_of("models")["words"]
REDACTED = "(redacted)"
_SECRET = r"(api[_-]?key|secret|password|passwd|token|credentials?|authorization)"
_SECRET_KEY = re.compile(rf"(^|[_.-]){_SECRET}$", re.I)
_URL_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]+@")
_URL_PARAMETER = re.compile(rf"([?&]{_SECRET}=)[^&\s]+", re.I)


def render(template: str, page: frame.Page, *scripts: str, **values: Any) -> str:
    """A page as text. `scripts` are files of ours that it needs besides the common one."""
    script = Markup("").join(frame.asset(name) for name in ("page.js", *scripts))
    settings = without_secrets(page.settings)
    return (
        frame.environment()
        .get_template(template)
        .render(
            page=page,
            settings=json.dumps(
                settings, indent=2, sort_keys=True, ensure_ascii=False, default=str
            ),
            style=frame.asset("page.css"),
            script=script,
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            **values,
        )
    )


def without_secrets(value: Any) -> Any:
    """A copy of nested settings with passwords, keys and tokens replaced.

    >>> without_secrets({"api_key": "k", "max_tokens": 9, "url": "pg://me:pw@db/x"})
    {'api_key': '(redacted)', 'max_tokens': 9, 'url': 'pg://me:(redacted)@db/x'}
    """
    if isinstance(value, dict):
        return {
            key: REDACTED if _SECRET_KEY.search(str(key)) and held else without_secrets(held)
            for key, held in value.items()
        }
    if isinstance(value, list | tuple):
        return [without_secrets(held) for held in value]
    if isinstance(value, str):
        value = _URL_PASSWORD.sub(rf"\1:{REDACTED}@", value)
        return _URL_PARAMETER.sub(rf"\1{REDACTED}", value)
    return value


def model_facts(models: Mapping[str, str]) -> list[tuple[str, str]]:
    """What a report says of the models that it names by role: ids, kind, licences of weights."""
    told = [
        *models.items(),
        ("kind of language model", WORDS[tier_of(models.get("generator", ""))]),
    ]
    return told + [("licence of weights", licence) for licence in licences(models.values())]


def model_sentence(models: Mapping[str, str]) -> str:
    """The language model of a report in words: its id, its kind, and what it limits."""
    model_id = models.get("generator", "")
    said = f"Language model: {model_id or 'not named'} ({WORDS[tier_of(model_id)]})."
    return " ".join([said, *limits(models)])


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
