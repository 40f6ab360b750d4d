"""Lists the models of a service, and those that write text."""

from collections.abc import Sequence
from typing import Final

from radarstream.connectors.models.openai_http.client import read_key
from radarstream.connectors.models.openai_http.endpoint import headers_of
from radarstream.connectors.models.openai_http.failures import (
    RequestError,
    ServiceError,
    failure_of_status,
)
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.openai_http.replies import at, error_codes, parsed
from radarstream.schemas.errors import ConfigurationError, ModelError

LISTED: Final = 5  # models that a message names
NAME_CHARACTERS: Final = 100  # of a name; longer ones are left out
PATIENCE_S: Final = 10.0  # timeout for the list of a given service
NO_ANSWERS: Final = ("embed", "rerank", "bge-")  # parts of names of models that write no text


def models_at(base_url: str, timeout_s: float, key_variable: str = "") -> tuple[str, ...]:
    """Return the names of the models that a service lists, without a key if no variable is given.

    Raises ModelError if no such service answers in time, ConfigurationError for an invalid key.
    """
    import httpx  # slow to import, and seldom needed

    options = OpenAiOptions(base_url=base_url, model="", api_key_variable=key_variable)
    try:
        reply = httpx.get(
            f"{options.base_url}/models",
            headers=headers_of(read_key(options)),
            timeout=timeout_s,
            trust_env=not options.is_local,
        )
    except httpx.HTTPError as error:
        said = f"no connection to {options.base_url}: {type(error).__name__}"
        raise ServiceError("connection", said) from None
    if reply.status_code != 200:
        raise failure_of_status(reply.status_code, error_codes(reply.content), None)
    entries = at(parsed(reply.content), "data")
    if not isinstance(entries, list):
        raise RequestError("malformed", f"no list of models from {options.base_url}")
    names = (at(entry, "id") for entry in entries)
    return tuple(name for name in names if isinstance(name, str))


def writers(models: Sequence[str]) -> list[str]:
    """Return the models that write text, judging by their names.

    >>> writers(["nomic-embed-text", "qwen3:8b"])
    ['qwen3:8b']
    """
    return [
        name
        for name in models
        if not any(part in name.lower() for part in NO_ANSWERS) and 0 < len(name) <= NAME_CHARACTERS
    ]


def named(models: Sequence[str]) -> str:
    """Name the first models, with long names cut."""
    short = [name if len(name) <= NAME_CHARACTERS // 4 else f"{name[:24]}…" for name in models]
    return ", ".join(short[:LISTED]) + (", …" if len(models) > LISTED else "")


def only_model(base_url: str, key_variable: str) -> str:
    """Return the only model of a service that writes text.

    Raises ConfigurationError with the names of the models if there is not exactly one.
    """
    try:
        found = writers(models_at(base_url, PATIENCE_S, key_variable))
    except ModelError as error:
        raise _unnamed(f"{base_url} does not list its models ({error})") from None
    if len(found) != 1:
        has = f"{len(found)} models: {named(found)}" if found else "no model that writes text"
        raise _unnamed(f"{base_url} has {has}")
    return found[0]


def _unnamed(why: str) -> ConfigurationError:
    said = f"no model is named, and {why}; name one, as with --model NAME"
    return ConfigurationError(said).mended_by("--model NAME")
