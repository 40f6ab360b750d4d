"""The parameters that guards, replays and studies share, as settings."""

import os
from pathlib import Path
from typing import Any, Final

from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.settings.loading import overlaid

KEY: Final = "OPENAI_API_KEY"


def settings_with(settings: Settings | str | Path | None, flags: dict[str, Any]) -> Settings:
    """Lay the flags over the settings, or over those of a TOML file."""
    if isinstance(settings, Settings):
        return Settings.model_validate(overlaid(settings.model_dump(), flags))
    return load_settings(Path(settings) if settings else None, **flags)


def chosen(
    model: str | None, base_url: str | None, defense: str | None, profile: str | None
) -> dict[str, Any]:
    """Return the settings that the parameters stand for."""
    flags: dict[str, Any] = {} if profile is None else {"profile": profile}
    if defense is not None:
        flags["defense"] = {"name": defense}
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


def database_url(memory: str | Path) -> str:
    """Return the URL of a database that may be given as a path."""
    text = str(memory)
    if "://" in text:
        return text
    return sqlite_url(Path(memory))
