"""The model ports: protocols that every backend fits. Connectors never import them.

Every call is batched and keeps order: result i belongs to request i, whatever the batch size. A
failed call raises `schemas.errors.ModelError`; it never returns an empty or abstaining answer.
Cached results are keyed by `model_id`.
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
        """Weights, revision and settings that decide results, as one stable string."""


class Generator(Model, Protocol):
    """A language model."""

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order."""


class RelationScorer(Model, Protocol):
    """A natural language inference model over answers to the same question."""

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows that sum to 1: entailment, neutral, contradiction of premise over
        hypothesis.
        """


@runtime_checkable
class AsksGenerator(Protocol):
    """A relation scorer that may ask a language model."""

    def asking(self, generator: Generator) -> RelationScorer:
        """The same scorer on another generator."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models a pipeline runs on.

    `tokens` is None where no model returns token probabilities. `plugins` are models that only a
    plug-in's own requests ask, by the names in its `needs`.
    """

    generator: Generator
    relations: RelationScorer
    embedder: Embedder
    tokens: TokenScorer | None = None
    plugins: Mapping[str, Model] = field(default_factory=dict)

    @property
    def ids(self) -> dict[str, str]:
        """The `model_id` of generator, relation scorer, embedder and what a plug-in asks.

        Embeddings may never be asked for, so weights that are missing are no error here.
        """
        models = {"generator": self.generator, "relations": self.relations, **self.plugins}
        ids = {name: model.model_id for name, model in models.items()}
        try:
            return ids | {"embedder": self.embedder.model_id}
        except ConfigurationError:
            return ids | {"embedder": NOT_INSTALLED}

    def wrapped(self, around: Around) -> "Models":
        """The same models with a function around each of their calls, also around those that a
        relation scorer makes of the generator.
        """
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
