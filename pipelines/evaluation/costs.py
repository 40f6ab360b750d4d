"""What a batch asks of the models and how long that takes, charged item by item."""

from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol, TypeVar

from radarstream.connectors.models.wrapping import Call, Method, Replies
from radarstream.defenses.protocol import Request
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.prompt import AnswerPair, Completion, Task
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery

ResultT = TypeVar("ResultT")
TokenQuery = NextTokenQuery | ContinuationQuery


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
    token_seconds: dict[TokenQuery, float] = field(default_factory=dict)
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
            case Method.NEXT_TOKENS | Method.LOG_PROBS:
                self.token_seconds.update(dict.fromkeys(call.requests, share))
            case Method.PROBE | Method.SALIENCES | Method.MASKED | Method.ATTENTION:
                self._note_first(call.requests, share * len(call.requests))
        return replies

    def _note_first(self, queries: Sequence[Hashable], seconds: float) -> None:
        """Divide the seconds of a call among the queries that were not asked before: the response
        cache answers the others in next to no time.
        """
        fresh = set(queries) - self.query_seconds.keys()
        self.query_seconds.update(dict.fromkeys(fresh, seconds / max(1, len(fresh))))


class Account(Protocol):
    """What one item is charged to."""

    def charge(self, request: Request, response: Any, /) -> None:
        """Count one request, once it is answered."""
        ...

    def add_seconds(self, own: float) -> None:
        """Count the method's own computation."""
        ...


@dataclass(frozen=True)
class ItemCosts(Costs):
    """Costs of a batch, each item charged to its account; see `signals.metering.Costs`."""

    ledger: Ledger
    accounts: Sequence[Account] = ()

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
