"""A language model by its name and address, as commands and the library take it."""

import os
from typing import Any, Final

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
