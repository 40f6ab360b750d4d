"""The model ports: protocols that every backend fits. Connectors never import them.

Every call is batched and keeps order: result i belongs to request i, whatever the batch size. A
failed call raises `schemas.errors.ModelError`; it never returns an empty or abstaining answer.
Cached results are keyed by `model_id`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, runtime_checkable

from radarstream.connectors.models.wrapping import Around, Wrapped
from radarstream.connectors.models.wrapping import Embedder as Embedder
from radarstream.connectors.models.wrapping import TokenScorer as TokenScorer
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.gradients import MaskedQuery, ProbeQuery, SalienceQuery, TokenSalience
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt
from radarstream.schemas.tokens import AttentionQuery

NOT_INSTALLED: Final = "not installed"
# Fields of `Models` that only rerankers ask.
OF_RERANKERS: Final = ("gradients", "surrogate", "masked", "attention")


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


class GradientEncoder(Model, Protocol):
    """A sentence encoder that tells gradients of its similarities."""

    def probe(self, queries: Sequence[ProbeQuery]) -> FloatArray:
        """(m, r, r) Gram matrices; all queries have equally many runs."""

    def saliences(self, queries: Sequence[SalienceQuery]) -> list[tuple[TokenSalience, ...]]:
        """Per query the tokens of its passage."""


class MaskedModel(Model, Protocol):
    """A language model that tells how probable hidden parts of a text are."""

    def masked(self, queries: Sequence[MaskedQuery]) -> list[FloatArray]:
        """Per query (s,) probabilities."""


class AttentionModel(Model, Protocol):
    """A language model that tells how it shares its attention among passages, or a substitute that
    says so in its `model_id`.
    """

    def attention(self, queries: Sequence[AttentionQuery]) -> list[FloatArray]:
        """Per query (n,) percentages, one per passage of its prompt."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models a pipeline runs on.

    `tokens` is None where no model returns token probabilities. `gradients` is the embedder's own
    network, `surrogate` another one; both, `masked` and `attention` are None unless a reranker is
    going to ask.
    """

    generator: Generator
    relations: RelationScorer
    embedder: Embedder
    tokens: TokenScorer | None = None
    gradients: GradientEncoder | None = None
    surrogate: GradientEncoder | None = None
    masked: MaskedModel | None = None
    attention: AttentionModel | None = None

    @property
    def ids(self) -> dict[str, str]:
        """The `model_id` of generator, relation scorer, embedder and what a reranker asks.

        Embeddings may never be asked for, so weights that are missing are no error here.
        """
        asked = ("generator", "relations", *OF_RERANKERS)
        models = {name: getattr(self, name) for name in asked}
        found = {name: model.model_id for name, model in models.items() if model is not None}
        try:
            return found | {"embedder": self.embedder.model_id}
        except ConfigurationError:
            return found | {"embedder": NOT_INSTALLED}

    def wrapped(self, around: Around) -> "Models":
        """The same models with a function around each of their calls, also around those that a
        relation scorer makes of the generator.
        """
        generator, relations = Wrapped(self.generator, around), self.relations
        if isinstance(relations, AsksGenerator):
            relations = relations.asking(generator)
        others = ("embedder", "tokens", *OF_RERANKERS)
        models = {name: getattr(self, name) for name in others}
        found: dict[str, Any] = {
            name: Wrapped(model, around) for name, model in models.items() if model is not None
        }
        return replace(self, generator=generator, relations=Wrapped(relations, around), **found)
