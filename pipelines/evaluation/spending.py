"""What a method asks of the models about one item: counted as it is asked, also where a cache
answers.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from radarstream.defenses.protocol import (
    AttemptAll,
    Attention,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    MaskedTokenProbabilities,
    Norms,
    ProbeGradients,
    Relate,
    Request,
    TokenSaliences,
)
from radarstream.pipelines.evaluation.costs import Ledger
from radarstream.pipelines.signals.token_probabilities import prompts_of
from radarstream.schemas.attention import AttentionQuery
from radarstream.schemas.gradients import MaskedQuery, ProbeQuery, SalienceQuery
from radarstream.schemas.prompt import AnswerPair
from radarstream.schemas.tokens import ContinuationQuery


@dataclass
class Spending:
    """One item's cost so far, at the prices of a ledger. What was counted before is not counted
    again.

    `counts` are by kind: `calls` are distinct prompts that were completed, `forwards` distinct
    prompts whose continuation was scored, `pairs` answers compared with each other, `embeddings`
    texts embedded or measured, `passes` forward and backward passes of one passage through an
    encoder, `masked` texts of which a masked model guesses a part, `attended` prompts of which it
    is told how their passages share the attention.
    """

    ledger: Ledger
    seen: set[Hashable] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def charge(self, request: Request, response: Any) -> None:
        """Count one request, once it is answered."""
        match request:
            case LogProbsAll(requests=parts):
                for part, answer in zip(parts, response, strict=True):
                    self.charge(part, answer)
            case CompleteAll(requests=singles) | AttemptAll(requests=singles):
                for single in singles:
                    self.charge(single, None)
            case Complete():
                self._charge_completion(request)
            case LogProbs():
                self._charge_scored(request, response)
            case Relate(question=question, premises=premises, hypotheses=hypotheses):
                related = zip(premises, hypotheses, strict=True)
                pairs = [AnswerPair(question, *pair) for pair in related]
                self._charge_each("pairs", pairs, self.ledger.pair_seconds)
            case Embed(texts=texts) | Norms(texts=texts):
                self._charge_each("embeddings", texts, self.ledger.text_seconds)
            case ProbeGradients() | TokenSaliences() | MaskedTokenProbabilities() | Attention():
                self._charge_insight(request)

    def add_seconds(self, own: float) -> None:
        """Count the method's own computation."""
        self.seconds += own

    def totals(self) -> dict[str, Any]:
        """The counts that are not zero, and the seconds."""
        return {**self.counts, "seconds": self.seconds}

    def _charge_scored(self, request: LogProbs, response: Any) -> None:
        """Count the prompts whose continuation was scored."""
        query = ContinuationQuery(prompts_of(request.rows), request.continuation)
        fresh = {(prompt.digest(), query.continuation) for prompt in query.prompts} - self.seen
        if fresh:
            self.seen |= fresh
            self.counts["forwards"] += len(fresh)
            self.counts["continuation_tokens"] += len(fresh) * response.shape[1]
            self.seconds += self.ledger.token_seconds.get(query, 0.0)

    def _charge_completion(self, request: Complete) -> None:
        """Count a prompt and its completion; one that failed was asked and took no time."""
        digest = prompts_of([request])[0].digest()
        if digest in self.seen:
            return
        self.seen.add(digest)
        self.counts["calls"] += 1
        if (completion := self.ledger.completions.get(digest)) is not None:
            self.counts["prompt_tokens"] += completion.prompt_tokens or 0
            self.counts["completion_tokens"] += completion.completion_tokens or 0
            self.seconds += completion.seconds

    def _charge_insight(
        self, request: ProbeGradients | TokenSaliences | MaskedTokenProbabilities | Attention
    ) -> None:
        """Count what a network is asked about its own workings."""
        if isinstance(request, Attention):
            (prompt,) = prompts_of([request.row])
            self._charge_query("attended", 1, AttentionQuery(prompt, request.answer))
            return
        for query in request.queries:
            match query:
                case ProbeQuery(runs=runs):
                    self._charge_query("passes", runs, query)
                case SalienceQuery():
                    self._charge_query("passes", 1, query)
                case MaskedQuery(spans=spans):
                    self._charge_query("masked", len(spans), query)

    def _charge_query(self, kind: str, units: int, item: Hashable) -> None:
        """Count one query of gradients, hidden tokens or attention."""
        if item not in self.seen:
            self.seen.add(item)
            self.counts[kind] += units
            self.seconds += self.ledger.query_seconds.get(item, 0.0)

    def _charge_each(
        self, kind: str, items: Iterable[Hashable], seconds: Mapping[Any, float]
    ) -> None:
        for item in dict.fromkeys(items):
            if item not in self.seen:
                self.seen.add(item)
                self.counts[kind] += 1
                self.seconds += seconds.get(item, 0.0)
