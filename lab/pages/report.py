"""A report: one HTML file with styles and scripts in it, and its settings without secrets."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from markupsafe import Markup

from radarstream.connectors.models.bundled import licences
from radarstream.lab.pages.tiers import limits, tier_of
from radarstream.lab.study.words import words_of
from radarstream.pipelines.pages import frame

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
