"""What one answer asked of the models: distinct prompts, tokens, pairs, embeddings, seconds.

Models are wrapped once per batch so that what a request cost is known by the request itself. A
`Tally` belongs to one answer: it sees the requests of one defence and looks up what they cost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from radarstream.defenses.protocol import (
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    NextTokens,
    Relate,
    Request,
)
from radarstream.pipelines.evaluation.experiment.records import Cost
from radarstream.pipelines.signals.ports import (
    Embedder,
    Generator,
    Models,
    RelationScorer,
    TokenScorer,
)
from radarstream.pipelines.signals.token_probabilities import prompts_of
from radarstream.schemas.errors import PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows

TokenQuery = NextTokenQuery | ContinuationQuery


@dataclass
class Ledger:
    """What every prompt, pair and text of a batch took; seconds of pairs and texts are wall clock
    shared out evenly.
    """

    completions: dict[bytes, Completion] = field(default_factory=dict)
    pair_seconds: dict[AnswerPair, float] = field(default_factory=dict)
    text_seconds: dict[str, float] = field(default_factory=dict)
    token_seconds: dict[TokenQuery, float] = field(default_factory=dict)

    def around(self, models: Models) -> Models:
        """The same models, noting what they are asked."""
        return replace(
            models,
            generator=NotedGenerator(models.generator, self),
            relations=NotedRelations(models.relations, self),
            embedder=NotedEmbedder(models.embedder, self),
            tokens=None if models.tokens is None else NotedTokens(models.tokens, self),
        )


@dataclass(frozen=True)
class NotedGenerator:
    """A generator whose completions are noted by their prompt."""

    inner: Generator
    ledger: Ledger

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self.inner.model_id

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order. Raises ModelError like the wrapped model."""
        try:
            completions = self.inner.complete(prompts)
        except PartialModelError as error:
            self.note(prompts, error.outcomes)
            raise
        self.note(prompts, completions)
        return completions

    def note(self, prompts: Sequence[Prompt], outcomes: Iterable[object]) -> None:
        """Remember the completions among `outcomes`."""
        for prompt, outcome in zip(prompts, outcomes, strict=False):
            if isinstance(outcome, Completion):
                self.ledger.completions[prompt.digest()] = outcome


@dataclass(frozen=True)
class NotedRelations:
    """A relation scorer whose time is noted by the pair."""

    inner: RelationScorer
    ledger: Ledger

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self.inner.model_id

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows. Raises ModelError like the wrapped model."""
        started = perf_counter()
        rows = self.inner.probabilities(pairs)
        share = (perf_counter() - started) / max(1, len(pairs))
        self.ledger.pair_seconds.update(dict.fromkeys(pairs, share))
        return rows


@dataclass(frozen=True)
class NotedEmbedder:
    """An embedder whose time is noted by the text."""

    inner: Embedder
    ledger: Ledger

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self.inner.model_id

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows. Raises ModelError like the wrapped model."""
        started = perf_counter()
        rows = self.inner.embed(texts)
        share = (perf_counter() - started) / max(1, len(texts))
        self.ledger.text_seconds.update(dict.fromkeys(texts, share))
        return rows


@dataclass(frozen=True)
class NotedTokens:
    """A token scorer whose time is noted by the query."""

    inner: TokenScorer
    ledger: Ledger

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self.inner.model_id

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query. Raises ModelError like the wrapped model."""
        started = perf_counter()
        answers = self.inner.next_tokens(queries)
        self.note(queries, perf_counter() - started)
        return answers

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """One matrix per query. Raises ModelError like the wrapped model."""
        started = perf_counter()
        answers = self.inner.log_probs(queries)
        self.note(queries, perf_counter() - started)
        return answers

    def note(self, queries: Sequence[TokenQuery], seconds: float) -> None:
        """Share the seconds out."""
        self.ledger.token_seconds.update(dict.fromkeys(queries, seconds / max(1, len(queries))))


@dataclass
class Tally:
    """One answer's cost so far; what was counted before is not counted again.

    Completions that are the answer count as generation, those a defence only reasons with as
    atomic answers, like the rounds of Sampling + MIS in Table 8 of the RADAR paper. A prompt whose
    next token is asked for counts as one call however long the reply gets, a completion token
    each time; its own tokens are not counted. Tokens are None once a prompt's were not. Embeddings
    and the defence's own computation count as selection.
    """

    ledger: Ledger
    prompts: set[bytes] = field(default_factory=set)
    pairs: set[AnswerPair] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    atomic_seconds: float = 0.0
    relation_seconds: float = 0.0
    selection_seconds: float = 0.0
    generation_seconds: float = 0.0

    def charge(self, request: Request, _: Any = None) -> None:
        """Count one request of a defence."""
        match request:
            case Complete():
                (prompt,) = prompts_of([request])
                self.charge_prompt(prompt, final=request.final)
            case CompleteAll(requests=requests):
                for single in requests:
                    self.charge(single)
            case Relate(question=question, premises=premises, hypotheses=hypotheses):
                for premise, hypothesis in zip(premises, hypotheses, strict=True):
                    self.charge_pair(AnswerPair(question, premise, hypothesis))
            case NextTokens(rows=rows, prefix=prefix):
                self.charge_tokens(NextTokenQuery(prompts_of(rows), prefix), tokens=1)
            case LogProbs(rows=rows, continuation=continuation):
                self.charge_tokens(ContinuationQuery(prompts_of(rows), continuation), tokens=0)
            case Embed(texts=texts):
                for text in set(texts) - self.texts:
                    self.texts.add(text)
                    self.selection_seconds += self.ledger.text_seconds.get(text, 0.0)

    def add_seconds(self, own: float) -> None:
        """Count the defence's own computation."""
        self.selection_seconds += own

    def charge_tokens(self, query: TokenQuery, *, tokens: int) -> None:
        """Count a query of token probabilities, `tokens` for each of its prompts."""
        self.prompts.update(prompt.digest() for prompt in query.prompts)
        self.count_tokens(None, tokens * len(query.prompts))
        self.generation_seconds += self.ledger.token_seconds.get(query, 0.0)

    def charge_prompt(self, prompt: Prompt, *, final: bool) -> None:
        """Count one prompt and its completion."""
        digest = prompt.digest()
        if digest in self.prompts:
            return
        self.prompts.add(digest)
        completion = self.ledger.completions.get(digest)
        if completion is None:  # it failed: the call was made, nothing came of it
            return
        known = completion.prompt_tokens > 0  # every prompt has some
        self.count_tokens(
            completion.prompt_tokens if known else None,
            completion.completion_tokens if known else None,
        )
        if final:
            self.generation_seconds += completion.seconds
        else:
            self.atomic_seconds += completion.seconds

    def count_tokens(self, read: int | None, written: int | None) -> None:
        """Add tokens; None for those that were not counted."""
        self.prompt_tokens = sum_known(self.prompt_tokens, read)
        self.completion_tokens = sum_known(self.completion_tokens, written)

    def charge_pair(self, pair: AnswerPair) -> None:
        """Count one pair to be related."""
        if pair not in self.pairs:
            self.pairs.add(pair)
            self.relation_seconds += self.ledger.pair_seconds.get(pair, 0.0)

    def cost(self) -> Cost:
        """The totals."""
        return Cost(
            calls=len(self.prompts),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            pairs=len(self.pairs),
            embeddings=len(self.texts),
            atomic_seconds=self.atomic_seconds,
            relation_seconds=self.relation_seconds,
            selection_seconds=self.selection_seconds,
            generation_seconds=self.generation_seconds,
        )


def sum_known(one: int | None, other: int | None) -> int | None:
    """The sum; None where one of them is not known."""
    return None if one is None or other is None else one + other
