"""The cost of one answer: distinct prompts, tokens, pairs, embeddings, seconds.

A `Tally` belongs to one answer: it sees the requests of one defence and looks up their cost in the
ledger of the batch.
"""

from collections import defaultdict
from collections.abc import Iterable
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
    and the defence's own computation count as selection. Where the language model judges relations,
    its prompts count as calls and tokens, its time as that of the relations. `seconds` has fields
    of `Cost`.
    """

    ledger: Ledger
    prompts: set[bytes] = field(default_factory=set)
    pairs: set[AnswerPair] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def charge(self, request: Request, _: Any = None) -> None:
        """Count one request of a defence."""
        match request:
            case Complete():
                column = "generation_seconds" if request.final else "atomic_seconds"
                (prompt,) = prompts_of([request])
                self.charge_prompt(prompt, column)
            case CompleteAll(requests=requests):
                for single in requests:
                    self.charge(single)
            case Relate(question=question, premises=premises, hypotheses=hypotheses):
                self.charge_pairs(map(AnswerPair, [question] * len(premises), premises, hypotheses))
            case NextTokens(rows=rows, prefix=prefix):
                self.charge_tokens(NextTokenQuery(prompts_of(rows), prefix), tokens=1)
            case LogProbs(rows=rows, continuation=continuation):
                self.charge_tokens(ContinuationQuery(prompts_of(rows), continuation), tokens=0)
            case Embed(texts=texts):
                for text in set(texts) - self.texts:
                    self.texts.add(text)
                    self.add_seconds(self.ledger.text_seconds.get(text, 0.0))

    def add_seconds(self, own: float) -> None:
        """Count the defence's own computation."""
        self.seconds["selection_seconds"] += own

    def charge_tokens(self, query: TokenQuery, *, tokens: int) -> None:
        """Count a query of token probabilities, `tokens` for each of its prompts."""
        self.prompts.update(prompt.digest() for prompt in query.prompts)
        self.count_tokens(None, tokens * len(query.prompts))
        self.seconds["generation_seconds"] += self.ledger.token_seconds.get(query, 0.0)

    def charge_prompt(self, prompt: Prompt, column: str | None) -> None:
        """Count one prompt and its completion, its seconds in a field of `Cost`; None: nowhere."""
        digest = prompt.digest()
        if digest in self.prompts:
            return
        self.prompts.add(digest)
        completion = self.ledger.completions.get(digest)
        if completion is None:  # it failed: the call was made, nothing came of it
            return
        if completion.prompt_tokens > 0:
            self.count_tokens(completion.prompt_tokens, completion.completion_tokens)
        else:  # every prompt has some tokens: they were not counted
            self.count_tokens(None, None)
        if column is not None:
            self.seconds[column] += completion.seconds

    def count_tokens(self, read: int | None, written: int | None) -> None:
        """Add tokens; None for those that were not counted."""
        self.prompt_tokens = sum_known(self.prompt_tokens, read)
        self.completion_tokens = sum_known(self.completion_tokens, written)

    def charge_pairs(self, pairs: Iterable[AnswerPair]) -> None:
        """Count pairs to be related."""
        for pair in pairs:
            if pair not in self.pairs:
                self.pairs.add(pair)
                self.seconds["relation_seconds"] += self.ledger.pair_seconds.get(pair, 0.0)
                self.charge_judge(pair)

    def charge_judge(self, pair: AnswerPair) -> None:
        """Count what the language model was asked to relate a pair, if it was."""
        if self.ledger.judged:  # its rules take a tenth of a second to read
            from radarstream.pipelines.signals.relation_judge import prompts_for

            for prompt in prompts_for(pair):
                if prompt.digest() in self.ledger.completions:
                    self.charge_prompt(prompt, None)

    def cost(self) -> Cost:
        """The totals."""
        return Cost(
            calls=len(self.prompts),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            pairs=len(self.pairs),
            embeddings=len(self.texts),
            **self.seconds,
        )


def sum_known(one: int | None, other: int | None) -> int | None:
    """The sum; None where one of them is not known."""
    return None if one is None or other is None else one + other
