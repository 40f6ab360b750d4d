"""A language model by its name and address, as commands and the library take it."""

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from pydantic import ValidationError

from radarstream.connectors.models.openai_http.listing import only_model
from radarstream.pipelines.settings.loading import overlaid

KEY: Final = "OPENAI_API_KEY"


def chosen_model(
    model: str | None, base_url: str | None, profile: str | None = None
) -> dict[str, Any]:
    """Return the flags that stand for a model of an OpenAI-compatible service, for `load_settings`.

    A model or an address selects the profile `api` unless a profile is named. A service that is
    named by its address is asked without a key unless OPENAI_API_KEY is set. Without all three:
    no flags.

    >>> chosen_model(None, None, "gpu")
    {'profile': 'gpu'}
    """
    flags: dict[str, Any] = {} if profile is None else {"profile": profile}
    if model is None and base_url is None:
        return flags
    generator = {"kind": "openai"}
    if model is not None:
        generator["model"] = model
    if base_url is not None:
        generator["base_url"] = base_url
        if KEY not in os.environ:
            generator["api_key_variable"] = ""
    return {"profile": "api", **flags, "generator": generator}


def with_served_model(flags: dict[str, Any], *layers: Mapping[str, Any]) -> dict[str, Any]:
    """The flags, with the only model of the service that they name by its address alone.

    They stay as they are where they name no address or a model, or one of the `layers` of settings
    below them names a model of a service, the last one first. Raises ConfigurationError, which
    names the models, where the service has not exactly one.
    """
    asked = flags.get("generator", {})
    if "base_url" not in asked or "model" in asked:
        return flags
    section: dict[str, Any] = {"kind": asked["kind"]}
    for above in (layer.get("generator") for layer in (*layers, flags)):
        if isinstance(above, dict):  # a file may hold anything here
            section = overlaid({"of": section}, {"of": above})["of"]
    if section.get("kind") != asked["kind"] or "model" in section:
        return flags
    with suppress(ValidationError):  # an address that is none: loading the settings says so
        model = only_model(asked["base_url"], section.get("api_key_variable", KEY))
        return flags | {"generator": asked | {"model": model}}
    return flags
