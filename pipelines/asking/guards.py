"""The guard of the settings and its variants: another defence, fewer documents."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from radarstream.pipelines.build import build_methods
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.settings import Settings


class Guards:
    """Guards that share models. Thread-safe."""

    def __init__(self, settings: Settings, configured: Guard[Any]) -> None:
        self.settings = settings
        self.configured = configured
        self.named = lru_cache(maxsize=64)(self._named)

    def _named(self, defense: str | None) -> Guard[Any]:
        """The guard with the defence of this name; None for that of the settings.

        Raises ConfigurationError for a name that is not known, or that the models do not fit.
        """
        chosen = self.settings.defense
        if defense is None or defense == chosen.name:
            return self.configured
        other = chosen.model_copy(update={"name": defense, "options": {}})
        method, _ = build_methods(self.settings.model_copy(update={"defense": other}))
        return replace(self.configured, name=defense, defense=method)

    def variant(self, defense: str | None, wanted: int) -> Guard[Any]:
        """The same where a reranker keeps at most the wanted documents."""
        guard = self.named(defense)
        return replace(guard, keep=min(guard.keep, wanted))
