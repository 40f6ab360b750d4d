"""The cost of one answer: distinct prompts, tokens, pairs, embeddings, seconds.

A `Tally` belongs to one answer: it sees the requests of one defence and looks up their cost in the
ledger of the batch.
"""

from dataclasses import dataclass, field
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
from radarstream.pipelines.evaluation.costs import Ledger, TokenQuery
from radarstream.pipelines.evaluation.defences.records import Cost
from radarstream.pipelines.signals.token_probabilities import prompts_of
from radarstream.schemas.prompt import AnswerPair, Prompt
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery


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
