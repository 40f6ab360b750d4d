"""What the pipeline asks of models. Backends match structurally; connectors never import this.

Every call is batched and keeps order: result i belongs to request i, whatever the batch size. A
failed call raises `schemas.errors.ModelError`; it never returns an empty or abstaining answer.
`model_id` names everything that decides the result (weights, revision, sampling), because cached
results are keyed by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from radarstream.connectors.models.wrapping import Around, Wrapped
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows


class Generator(Protocol):
    """A language model."""

    @property
    def model_id(self) -> str:
        """Weights, revision and sampling settings, as one stable string."""
        ...

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order."""
        ...


class RelationScorer(Protocol):
    """A natural language inference model over answers to the same question."""

    @property
    def model_id(self) -> str:
        """Weights, revision and calibration, as one stable string."""
        ...

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows that sum to 1: entailment, neutral, contradiction of premise over
        hypothesis.
        """
        ...


class SourceLedger(Protocol):
    """What is known of the honesty of sources; no model, but asked in batches likewise."""

    def honesty(self, snapshots: Sequence[SearchSnapshot]) -> list[FloatArray]:
        """Per snapshot (documents,), in (0, 1), as of its time; NEUTRAL for the unknown."""
        ...


class Embedder(Protocol):
    """A sentence embedding model."""

    @property
    def model_id(self) -> str:
        """Weights and revision, as one stable string."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit Euclidean length."""
        ...


class MeasuringEmbedder(Embedder, Protocol):
    """An embedder that tells how long its rows are before it brings them to unit length."""

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """(m,) Euclidean lengths, positive."""
        ...


class TokenScorer(Protocol):
    """A language model that tells the probabilities of tokens: the generator's, or a proxy."""

    @property
    def model_id(self) -> str:
        """Weights, revision and rendering, as one stable string."""
        ...

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query, in order."""
        ...

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms: a row per prompt, a column per token of the
        continuation, which has at least one.
        """
        ...


@dataclass(frozen=True, slots=True)
class Models:
    """The models a pipeline runs on.

    `tokens` where there is one that tells probabilities, `norms` where an embedder tells lengths.
    `tells_distributions` is whether `tokens` answers `next_tokens`; services do not.
    """

    generator: Generator
    relations: RelationScorer
    embedder: Embedder
    tokens: TokenScorer | None = None
    norms: MeasuringEmbedder | None = None
    tells_distributions: bool = True

    @property
    def ids(self) -> dict[str, str]:
        """What identifies the models that every pipeline runs on, by their part in it."""
        return {
            "generator": self.generator.model_id,
            "relations": self.relations.model_id,
            "embedder": self.embedder.model_id,
        }

    def wrapped(self, around: Around) -> "Models":
        """The same models with a function around each of their calls; `norms` stays as it is."""
        return replace(
            self,
            generator=Wrapped(self.generator, around),
            relations=Wrapped(self.relations, around),
            embedder=Wrapped(self.embedder, around),
            tokens=None if self.tokens is None else Wrapped(self.tokens, around),
        )
