"""Protocols of models, which backends implement without importing them.

Every call is a batch: result i belongs to request i. A failed call raises
`schemas.errors.ModelError`, and never returns an empty answer. `model_id` is part of the keys of
cached results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from radarstream.connectors.models.wrapping import Around, Wrapped
from radarstream.connectors.models.wrapping import Embedder as Embedder
from radarstream.connectors.models.wrapping import TokenScorer as TokenScorer
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt

NOT_INSTALLED: Final = "not installed"


class Model(Protocol):
    """Any model."""

    @property
    def model_id(self) -> str:
        """Weights, revision and settings that affect results, as one stable string."""


class Generator(Model, Protocol):
    """A language model. `connectors.models.rendering` turns prompts into text or messages.

    >>> class Echo:
    ...     model_id = "echo/1"
    ...     def complete(self, prompts):
    ...         return [Completion(prompt.question) for prompt in prompts]
    >>> from radarstream.pipelines.signals.prompts import build_prompt
    >>> from radarstream.schemas.prompt import Task
    >>> Echo().complete([build_prompt(Task.ATOMIC_ANSWER, "Who?", ["Ann Lee."])])[0].text
    'Who?'
    """

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order; equal prompts have equal completions.

        Raises ModelError if the call fails, PartialModelError if some prompts do.
        """


class RelationScorer(Model, Protocol):
    """A natural language inference model for answers to one question.

    >>> from radarstream.connectors.models.scripted import ScriptedRelations
    >>> ScriptedRelations().probabilities([AnswerPair("Where?", "Rome", "rome.")]).tolist()
    [[0.95, 0.03, 0.02]]
    """

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """Return (m, 3) probabilities that the premise entails, is neutral to, or contradicts the
        hypothesis; rows sum to 1. Raises ModelError, PartialModelError.
        """


@runtime_checkable
class AsksGenerator(Protocol):
    """A relation scorer that asks a language model."""

    def asking(self, generator: Generator) -> RelationScorer:
        """Return the scorer with another generator."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a pipeline.

    `tokens` is None if no model returns token probabilities. `plugins` are models for the requests
    of plug-ins, by the names in their `needs`.
    """

    generator: Generator
    relations: RelationScorer
    embedder: Embedder
    tokens: TokenScorer | None = None
    plugins: Mapping[str, Model] = field(default_factory=dict)

    @property
    def ids(self) -> dict[str, str]:
        """The `model_id` of generator, relation scorer, embedder and models of plug-ins.

        Missing weights of the embedder are no error here, because they may not be needed.
        """
        models = {"generator": self.generator, "relations": self.relations, **self.plugins}
        ids = {name: model.model_id for name, model in models.items()}
        try:
            return ids | {"embedder": self.embedder.model_id}
        except ConfigurationError:
            return ids | {"embedder": NOT_INSTALLED}

    def wrapped(self, around: Around) -> "Models":
        """Wrap all calls of the models, also those of a relation scorer to the generator."""
        generator, relations = Wrapped(self.generator, around), self.relations
        if isinstance(relations, AsksGenerator):
            relations = relations.asking(generator)
        return Models(
            generator,
            Wrapped(relations, around),
            Wrapped(self.embedder, around),
            None if self.tokens is None else Wrapped(self.tokens, around),
            {name: Wrapped(model, around) for name, model in self.plugins.items()},
        )
