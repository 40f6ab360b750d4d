"""What methods ask of the models and how long that takes, charged item by item."""

from collections.abc import Generator, Hashable, Iterable, Sequence
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
    PluginRequest,
    Relate,
    Request,
)
from radarstream.lab.insights import AttentionQuery, MaskedQuery
from radarstream.lab.study.rows import Cost
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.schemas.prompt import AnswerPair, Completion, ContinuationQuery, Prompt, Task

ResultT = TypeVar("ResultT")
ATOMIC: Final = "atomic_seconds"  # fields of `Cost`
RELATIONS: Final = "relation_seconds"
SELECTION: Final = "selection_seconds"
GENERATION: Final = "generation_seconds"


@dataclass
class Ledger:
    """The completions of a batch, and the `seconds` of its pairs, texts and queries.

    The seconds of a call are wall clock, divided evenly among the requests that no call had before:
    a response cache answers the others in next to no time. `judged` tells whether the language
    model was asked how answers relate; its time is in that of the pairs.
    """

    completions: dict[bytes, Completion] = field(default_factory=dict)
    seconds: dict[Hashable, float] = field(default_factory=dict)
    judged: bool = False

    def note(self, call: Call) -> Replies:
        """Pass a call on and note its cost. Raises ModelError like the model."""
        started = perf_counter()
        replies = call.ask()
        took = perf_counter() - started
        if call.method == Method.COMPLETE:
            self.judged |= any(p.task is Task.JUDGE_RELATION for p in call.requests)
            for prompt, completion in zip(call.requests, replies, strict=True):
                if isinstance(completion, Completion):
                    self.completions[prompt.digest()] = completion
        else:
            fresh = set(call.requests) - self.seconds.keys()
            self.seconds.update(dict.fromkeys(fresh, took / max(1, len(fresh))))
        return replies


@dataclass
class Spending:
    """The cost of one row so far, at the prices of a ledger; what was counted before is not counted
    again.

    Completions that are the answer count as generation, those a method only reasons with as atomic
    answers, like the rounds of Sampling + MIS in Table 8 of the RADAR paper. Everything else but
    relations, and the method's own computation, counts as selection. Prompts by which the language
    model judges relations count as calls and tokens, their time as that of the relations.
    """

    ledger: Ledger
    seen: set[Hashable] = field(default_factory=set)
    counts: dict[str, Any] = field(default_factory=dict)  # fields of `Cost`

    def charge(self, request: Request, response: Any = None) -> None:
        """Count one request, once it is answered."""
        match request:
            case CompleteAll(requests=parts) | AttemptAll(requests=parts):
                for part in parts:
                    self.charge(part)
            case LogProbsAll(requests=scored):
                list(map(self.charge, scored, response))
            case Complete():
                (prompt,) = prompts_of([request])
                self.charge_prompt(prompt, GENERATION if request.final else ATOMIC)
            case LogProbs():
                self._charge_scored(request, response)
            case Relate(question=question, premises=premises, hypotheses=hypotheses):
                related = zip(premises, hypotheses, strict=True)
                self.charge_pairs(AnswerPair(question, *pair) for pair in related)
            case Embed(texts=texts) | Norms(texts=texts):
                self._charge_each(texts)
            case PluginRequest():
                self._charge_each(getattr(request, "queries", ()))

    def charge_prompt(self, prompt: Prompt, stage: str | None) -> None:
        """Count a prompt and its completion, its seconds under a stage; None: nowhere. One that
        failed was asked and took no time.
        """
        is_new = self._charge("calls", prompt.digest(), stage=None)
        completion = self.ledger.completions.get(prompt.digest())
        if not is_new or completion is None:
            return
        counted = completion.prompt_tokens > 0  # every prompt has some tokens
        self.add("prompt_tokens", completion.prompt_tokens if counted else None)
        self.add("completion_tokens", completion.completion_tokens if counted else None)
        if stage is not None:
            self.add(stage, completion.seconds)

    def charge_pairs(self, pairs: Iterable[AnswerPair]) -> None:
        """Count answers to be related, and what the language model was asked to relate them."""
        new = [pair for pair in pairs if self._charge("pairs", pair, stage=RELATIONS)]
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
        if fresh := sum(self._charge("forwards", one, stage=None) for one in scored):
            self.add("continuation_tokens", fresh * response.shape[1])
            self.add(SELECTION, self.ledger.seconds.get(query, 0.0))

    def _charge_each(self, items: Iterable[Any]) -> None:
        """Count texts to embed, and what a network is asked about its own workings."""
        for item in items:
            match item:
                case str():
                    self._charge("embeddings", item)
                case AttentionQuery():
                    self._charge("attended", item)
                case MaskedQuery(spans=spans):
                    self._charge("masked", item, len(spans))
                case _:
                    self._charge("passes", item, getattr(item, "runs", 1))

    def _charge(
        self, kind: str, item: Hashable, units: int = 1, stage: str | None = SELECTION
    ) -> bool:
        """Count an item, and its seconds under a stage, unless it was counted before; whether it
        is new.
        """
        if item in self.seen:
            return False
        self.seen.add(item)
        self.add(kind, units)
        if stage is not None:
            self.add(stage, self.ledger.seconds.get(item, 0.0))
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
                account.add(SELECTION, perf_counter() - started)
                response = yield request
                account.charge(request, response)
                started = perf_counter()
                request = asking.send(response)
        except StopIteration as stop:
            account.add(SELECTION, perf_counter() - started)
            result: ResultT = stop.value
            return result
        finally:
            asking.close()
