"""What methods ask of the models and how long that takes, charged item by item."""

from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final, TypeVar

from radarstream.connectors.models.wrapping import Call, Method, Replies
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
from radarstream.lab.insights import (
    Attention,
    MaskedQuery,
    MaskedTokenProbabilities,
    ProbeGradients,
    ProbeQuery,
    SalienceQuery,
    TokenSaliences,
)
from radarstream.lab.study.rows import Cost
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.schemas.prompt import AnswerPair, Completion, ContinuationQuery, Prompt, Task

ItemT = TypeVar("ItemT", bound=Hashable)
ResultT = TypeVar("ResultT")
Insight = ProbeGradients | TokenSaliences | MaskedTokenProbabilities | Attention
ATOMIC: Final = "atomic_seconds"  # fields of `Cost`
RELATIONS: Final = "relation_seconds"
SELECTION: Final = "selection_seconds"
GENERATION: Final = "generation_seconds"


@dataclass
class Ledger:
    """The completions of a batch, and the seconds of its pairs, texts and token queries.

    The seconds of a call are wall clock, divided evenly among its requests. Queries of gradients,
    hidden tokens and attention keep the seconds of the first call. `judged` tells whether
    the language model was asked how answers relate; its time is in that of the pairs.
    """

    completions: dict[bytes, Completion] = field(default_factory=dict)
    pair_seconds: dict[AnswerPair, float] = field(default_factory=dict)
    text_seconds: dict[str, float] = field(default_factory=dict)
    token_seconds: dict[ContinuationQuery, float] = field(default_factory=dict)
    query_seconds: dict[Hashable, float] = field(default_factory=dict)
    judged: bool = False

    def note(self, call: Call) -> Replies:
        """Pass a call on and note its cost. Raises ModelError like the model."""
        started = perf_counter()
        replies = call.ask()
        share = (perf_counter() - started) / len(call.requests)
        match call.method:
            case Method.COMPLETE:
                self.judged |= any(p.task is Task.JUDGE_RELATION for p in call.requests)
                for prompt, completion in zip(call.requests, replies, strict=True):
                    if isinstance(completion, Completion):
                        self.completions[prompt.digest()] = completion
            case Method.PROBABILITIES:
                self.pair_seconds.update(dict.fromkeys(call.requests, share))
            case Method.EMBED:
                self.text_seconds.update(dict.fromkeys(call.requests, share))
            case Method.LOG_PROBS:
                self.token_seconds.update(dict.fromkeys(call.requests, share))
            case _:  # of a network about its own workings
                self._note_first(call.requests, share * len(call.requests))
        return replies

    def _note_first(self, queries: Sequence[Hashable], seconds: float) -> None:
        """Divide the seconds of a call among the queries that were not asked before: the response
        cache answers the others in next to no time.
        """
        fresh = set(queries) - self.query_seconds.keys()
        self.query_seconds.update(dict.fromkeys(fresh, seconds / max(1, len(fresh))))


@dataclass
class Spending:
    """The cost of one row so far, at the prices of a ledger; what was counted before is not counted
    again.

    Completions that are the answer count as generation, those a method only reasons with as atomic
    answers, like the rounds of Sampling + MIS in Table 8 of the RADAR paper. Everything else but
    relations, and the method's own computation, counts as selection. Where the language model
    judges relations, its prompts count as calls and tokens, its time as that of the relations.
    """

    ledger: Ledger
    seen: set[Hashable] = field(default_factory=set)
    counts: dict[str, Any] = field(default_factory=dict)  # fields of `Cost`

    def charge(self, request: Request, response: Any = None) -> None:
        """Count one request, once it is answered."""
        match request:
            case LogProbsAll(requests=parts):
                for part, answer in zip(parts, response, strict=True):
                    self.charge(part, answer)
            case CompleteAll(requests=singles) | AttemptAll(requests=singles):
                for single in singles:
                    self.charge(single)
            case Complete():
                (prompt,) = prompts_of([request])
                self.charge_prompt(prompt, GENERATION if request.final else ATOMIC)
            case LogProbs():
                self._charge_scored(request, response)
            case Relate(question=question, premises=premises, hypotheses=hypotheses):
                related = zip(premises, hypotheses, strict=True)
                self.charge_pairs(AnswerPair(question, *pair) for pair in related)
            case Embed(texts=texts) | Norms(texts=texts):
                self._charge_each("embeddings", texts, self.ledger.text_seconds, SELECTION)
            case ProbeGradients() | TokenSaliences() | MaskedTokenProbabilities() | Attention():
                self._charge_insight(request)

    def add_seconds(self, own: float) -> None:
        """Count the method's own computation."""
        self.add(SELECTION, own)

    def charge_prompt(self, prompt: Prompt, stage: str | None) -> None:
        """Count a prompt and its completion, its seconds under a stage; None: nowhere. One that
        failed was asked and took no time.
        """
        if not self._is_new(prompt.digest()):
            return
        self.add("calls", 1)
        completion = self.ledger.completions.get(prompt.digest())
        if completion is None:
            return
        counted = completion.prompt_tokens > 0  # every prompt has some tokens
        self.add("prompt_tokens", completion.prompt_tokens if counted else None)
        self.add("completion_tokens", completion.completion_tokens if counted else None)
        if stage is not None:
            self.add(stage, completion.seconds)

    def charge_pairs(self, pairs: Iterable[AnswerPair]) -> None:
        """Count answers to be related, and what the language model was asked to relate them."""
        new = self._charge_each("pairs", pairs, self.ledger.pair_seconds, RELATIONS)
        if self.ledger.judged:  # its rules take a tenth of a second to read
            from radarstream.pipelines.signals.relation_judge import prompts_for

            for prompt in (prompt for pair in new for prompt in prompts_for(pair)):
                if prompt.digest() in self.ledger.completions:
                    self.charge_prompt(prompt, None)

    def cost(self) -> Cost:
        """The totals."""
        return Cost(**self.counts)

    def add(self, name: str, more: float | None) -> None:
        """Add to a field of `Cost`; None makes it unknown for good."""
        before = self.counts.get(name, 0)
        self.counts[name] = None if before is None or more is None else before + more

    def _charge_scored(self, request: LogProbs, response: Any) -> None:
        """Count the prompts whose continuation was scored."""
        query = ContinuationQuery(prompts_of(request.rows), request.continuation)
        scored = [(prompt.digest(), query.continuation) for prompt in query.prompts]
        if fresh := sum(map(self._is_new, scored)):
            self.add("forwards", fresh)
            self.add("continuation_tokens", fresh * response.shape[1])
            self.add(SELECTION, self.ledger.token_seconds.get(query, 0.0))

    def _charge_insight(self, request: Insight) -> None:
        """Count what a network is asked about its own workings."""
        if isinstance(request, Attention):
            self._charge_query("attended", 1, request.query)
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
        if self._is_new(item):
            self.add(kind, units)
            self.add(SELECTION, self.ledger.query_seconds.get(item, 0.0))

    def _charge_each(
        self, kind: str, items: Iterable[ItemT], seconds: Mapping[ItemT, float], stage: str
    ) -> list[ItemT]:
        """Count items by themselves; those that are new."""
        new = [item for item in items if self._is_new(item)]
        for item in new:
            self.add(kind, 1)
            self.add(stage, seconds.get(item, 0.0))
        return new

    def _is_new(self, item: Hashable) -> bool:
        if item in self.seen:
            return False
        self.seen.add(item)
        return True


@dataclass(frozen=True)
class ItemCosts(Costs):
    """Costs of a batch, each item charged to its account; see `signals.metering.Costs`."""

    ledger: Ledger
    accounts: Sequence[Spending] = ()

    def around(self, models: Models) -> Models:
        """The models, noting in the ledger what each request took."""
        return models.wrapped(self.ledger.note)

    def charged(
        self, place: int, asking: Generator[Request, Any, ResultT]
    ) -> Generator[Request, Any, ResultT]:
        """The generator, its requests and its own time charged to the account at this place."""
        account = self.accounts[place]
        started = perf_counter()
        try:
            request = next(asking)
            while True:
                account.add_seconds(perf_counter() - started)
                response = yield request
                account.charge(request, response)
                started = perf_counter()
                request = asking.send(response)
        except StopIteration as stop:
            account.add_seconds(perf_counter() - started)
            result: ResultT = stop.value
            return result
        finally:
            asking.close()
