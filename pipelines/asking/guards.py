"""The guard of the settings and its variants: another defence, other prompts, fewer documents."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Literal

from radarstream.pipelines.build import build_methods
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.guardrail import guarded
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.tasks.additions import DO_NOT_QUOTE, GUARDRAIL

# As they are; with the guardrail; with that, and told not to quote.
Prompting = Literal["plain", "guarded", "unquoting"]
Prompted = Callable[[Models, Prompting], Models]  # models with other prompts
SENTENCES: Final[dict[Prompting, tuple[str, ...]]] = {
    "plain": (),
    "guarded": (GUARDRAIL,),
    "unquoting": (GUARDRAIL, DO_NOT_QUOTE),
}


def with_sentences(models: Models, prompting: Prompting) -> Models:
    """The models, told the sentences of a way of prompting."""
    return guarded(models, SENTENCES[prompting])


class Guards:
    """Guards that share models. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        configured: Guard[Any],
        prompted: Prompted,
    ) -> None:
        self.settings = settings
        self.configured = configured
        self._prompted = prompted
        self.variant = lru_cache(maxsize=256)(self._variant)

    def _variant(self, defense: str | None, wanted: int, prompting: Prompting) -> Guard[Any]:
        """The guard with the defence of this name, None for that of the settings, whose reranker
        keeps at most the wanted documents.

        Raises ConfigurationError for a name that is not known, or that the models do not fit.
        """
        guard, chosen = self.configured, self.settings.defense
        if prompting != "plain":
            guard = replace(guard, models=self._prompted(guard.models, prompting))
        if defense is not None and defense != chosen.name:
            other = chosen.model_copy(update={"name": defense, "options": {}})
            method, _ = build_methods(self.settings.model_copy(update={"defense": other}))
            guard = replace(guard, name=defense, defense=method)
        return replace(guard, keep=min(guard.keep, wanted))
