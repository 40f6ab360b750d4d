"""What one attribution asks of the models: counted as it is asked, also where a cache answers.

The models are wrapped once per batch, so that what a prompt or a text took is known by itself;
every attribution has a tally of its own that looks up what it asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from radarstream.defenses.protocol import (
    AttemptAll,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    Norms,
    Relate,
    Request,
)
from radarstream.pipelines.evaluation.attribution.rows import AttributionCost
from radarstream.pipelines.evaluation.costs import Ledger
from radarstream.pipelines.signals.token_probabilities import prompts_of
from radarstream.schemas.prompt import AnswerPair, Prompt
from radarstream.schemas.tokens import ContinuationQuery


@dataclass
class Spending:
    """One attribution's cost so far; what was counted before is not counted again."""

    ledger: Ledger
    prompts: set[bytes] = field(default_factory=set)
    scored: set[tuple[bytes, str]] = field(default_factory=set)
    pairs: set[AnswerPair] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    continuation_tokens: int = 0
    seconds: float = 0.0

    def charge(self, request: Request, response: Any) -> None:
        """Count one request, once it is answered."""
        match request:
            case CompleteAll(requests=parts) | AttemptAll(requests=parts):
                for single in parts:
                    self.charge(single, None)
            case LogProbsAll(requests=rows):
                for asked, answer in zip(rows, response, strict=True):
                    self.charge_rows(asked, answer)
            case Complete():
                self.charge_prompt(*prompts_of([request]))
            case LogProbs():
                self.charge_rows(request, response)
            case Relate():
                self.charge_pairs(request)
            case Embed(texts=texts) | Norms(texts=texts):
                self.charge_texts(texts)

    def add_seconds(self, own: float) -> None:
        """Count the attribution's own computation."""
        self.seconds += own

    def charge_prompt(self, prompt: Prompt) -> None:
        """Count a prompt and its completion; one that failed was asked and took no time."""
        digest = prompt.digest()
        if digest in self.prompts:
            return
        self.prompts.add(digest)
        completion = self.ledger.completions.get(digest)
        if completion is not None:
            self.prompt_tokens += completion.prompt_tokens or 0
            self.completion_tokens += completion.completion_tokens or 0
            self.seconds += completion.seconds

    def charge_pairs(self, request: Relate) -> None:
        """Count answers that were compared."""
        for premise, hypothesis in zip(request.premises, request.hypotheses, strict=True):
            pair = AnswerPair(request.question, premise, hypothesis)
            if pair not in self.pairs:
                self.pairs.add(pair)
                self.seconds += self.ledger.pair_seconds.get(pair, 0.0)

    def charge_texts(self, texts: Sequence[str]) -> None:
        """Count texts that were embedded or measured."""
        for text in set(texts) - self.texts:
            self.texts.add(text)
            self.seconds += self.ledger.text_seconds.get(text, 0.0)

    def charge_rows(self, request: LogProbs, response: Any) -> None:
        """Count the prompts whose continuation was scored; `response` is (r, t)."""
        query = ContinuationQuery(prompts_of(request.rows), request.continuation)
        fresh = {(prompt.digest(), query.continuation) for prompt in query.prompts} - self.scored
        if fresh:
            self.scored |= fresh
            self.continuation_tokens += len(fresh) * response.shape[1]
            self.seconds += self.ledger.token_seconds.get(query, 0.0)

    def cost(self) -> AttributionCost:
        """The totals."""
        return AttributionCost(
            calls=len(self.prompts),
            forwards=len(self.scored),
            pairs=len(self.pairs),
            embeddings=len(self.texts),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            continuation_tokens=self.continuation_tokens,
            seconds=self.seconds,
        )
