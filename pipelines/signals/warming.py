"""Loads models before the first question, so that nobody has to wait for them."""

from collections.abc import Collection
from typing import Any, Final

from radarstream.connectors.models.wrapping import Wrapped
from radarstream.pipelines.signals.ports import AsksGenerator, Models
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.prompt import AnswerPair, Task

QUESTION: Final = "What is this?"
EVERY: Final = ("embedder", "relations", "generator", "plugins")


def warm_up(models: Models, asked: Collection[str] = EVERY) -> None:
    """Ask each of these models one tiny thing, past the response cache, which keeps none of it.

    `asked` are fields of `Models`. A plug-in's model loads by its method `warm_up`, if it has one.
    Raises ModelError where a model does not answer, ConfigurationError where weights or libraries
    are missing.
    """
    prompt = build_prompt(Task.ATOMIC_ANSWER, QUESTION, ["This is a test."])
    for name in asked:
        model = bare(getattr(models, name))
        if isinstance(model, AsksGenerator):  # that has weights of its own
            continue
        match name:
            case "embedder":
                model.embed([QUESTION])
            case "relations":
                model.probabilities([AnswerPair(QUESTION, "a test", "an exam")])
            case "generator":
                model.complete([prompt])
            case "plugins":
                for plugin in model.values():
                    getattr(bare(plugin), "warm_up", lambda: None)()


def bare(model: Any) -> Any:
    """The model itself, without what is wrapped around it."""
    while isinstance(model, Wrapped):
        model = model.wrapped
    return model
