"""The parameters that guards, replays and studies share, as settings."""

from pathlib import Path
from typing import Any

from radarstream.connectors.state_table.database.engine import sqlite_url
from radarstream.pipelines.settings import Settings, load_settings, loading


def settings_with(settings: Settings | str | Path | None, flags: dict[str, Any]) -> Settings:
    """Override settings, or those of a TOML file, by flags. A service that is given without a model
    is asked for its only model. `model_fields_set` of the result leaves defaults out.
    """
    if isinstance(settings, Settings):
        given = settings.model_dump(include=settings.model_fields_set)
        return Settings.model_validate(
            loading.overlaid(given, loading.with_served_model(flags, given))
        )
    file = Path(settings) if settings else None
    layers = (loading.read_toml(file) if file else {}, loading.read_environment())
    return load_settings(file, **loading.with_served_model(flags, *layers))


def chosen(
    model: str | None, base_url: str | None, defense: str | None, profile: str | None
) -> dict[str, Any]:
    """Return the settings that the parameters set.

    >>> chosen(None, None, "majority", "scripted")
    {'profile': 'scripted', 'defense': {'name': 'majority'}}
    """
    flags = loading.chosen_model(model, base_url, profile)
    return flags if defense is None else flags | {"defense": {"name": defense}}


def database_url(memory: str | Path) -> str:
    """Return the URL of a database that is given as a URL or a path.

    >>> database_url("postgresql://me@db/x"), database_url("memory.db")
    ('postgresql://me@db/x', 'sqlite:///memory.db')
    """
    text = str(memory)
    return text if "://" in text else sqlite_url(Path(memory))
