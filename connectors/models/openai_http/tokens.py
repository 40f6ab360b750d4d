"""Token log-probabilities of a reply from services that tell those of a prompt.

A service may ignore what it does not know and answer something else, so nothing is believed
unchecked: every answer must show the tokens that were asked about, or the call fails.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np

from connectors.models.circuit_breaker import CircuitBreaker
from connectors.models.openai_http.background_loop import BackgroundLoop
from connectors.models.openai_http.budget import Budget, BudgetSpentError
from connectors.models.openai_http.endpoint import Endpoint
from connectors.models.openai_http.failures import Kind, ServiceError
from connectors.models.openai_http.generator import read_key
from connectors.models.openai_http.options import OpenAiTokenOptions
from connectors.models.openai_http.prompt_logs import (
    Told,
    read_echo,
    read_prompt_logprobs,
    read_token_ids,
)
from connectors.models.rendering import RENDERING_VERSION, completion_text
from schemas.errors import ConfigurationError, ModelError, ModelOutageError
from schemas.evidence import FloatArray
from schemas.prompt import Prompt
from schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows

_VERSION: Final = "/v1"
_BEFORE: Final = ":"  # what a reply follows: the tokens of both are told apart by it
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class _Session:
    """What lives in the event loop. `endpoint` is above the version of the address."""

    background: BackgroundLoop
    endpoint: Endpoint
    free: asyncio.Semaphore


class OpenAiTokens:
    """Asks how probable a reply is; prompts become few-shot completions.

    One request per prompt, many in flight. Raises ModelOutageError when the service is at fault
    and ModelError when it does not tell what was asked, from every call. Usable from several
    threads. Pickles as its options. `calls` counts prompts sent, `errors` failed attempts by kind,
    `tokens_in` and `tokens_out` what the service says it used, `cost` their price.
    """

    def __init__(
        self, options: OpenAiTokenOptions, *, clock: Callable[[], float] = monotonic
    ) -> None:
        read_key(options)
        self.options = options
        self.breaker = CircuitBreaker(
            failures=options.failures_to_open, cool_down_s=options.cool_down_s, clock=clock
        )
        self.calls = 0
        self.errors: Counter[str] = Counter()
        self.tokens_in = 0
        self.tokens_out = 0
        self._session: _Session | None = None
        self._starting = Lock()

    def __reduce__(self) -> tuple[type["OpenAiTokens"], tuple[OpenAiTokenOptions]]:
        return type(self), (self.options,)

    def __repr__(self) -> str:
        return f"OpenAiTokens({self.model_id!r})"

    @property
    def model_id(self) -> str:
        """Service, model, how it is asked, and how prompts are rendered."""
        o = self.options
        parts = urlsplit(o.base_url)
        place = parts.netloc + parts.path.removesuffix(_VERSION)
        digest = sha256(json.dumps(o.extra_body, sort_keys=True).encode()).hexdigest()[:8]
        return f"openai/{o.service or place}/{o.model}/{digest}/{o.method}-{RENDERING_VERSION}"

    @property
    def cost(self) -> float:
        """What the tokens cost at the prices of the options, in their currency."""
        o = self.options
        return (self.tokens_in * o.price_in + self.tokens_out * o.price_out) / 1e6

    def next_tokens(
        self,
        queries: Sequence[NextTokenQuery],  # noqa: ARG002
    ) -> list[NextTokenRows]:
        """Raise ConfigurationError: services tell a few tokens, never a whole distribution."""
        raise ConfigurationError(
            "no service tells the probability of every possible next token: set `kind` in the "
            "section `tokens` to `transformers`, or to `same` with a model in this process"
        )

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms, a column per token of its continuation."""
        if any(not query.continuation.strip() for query in queries):
            raise ModelError("a continuation without a token has no probability")
        if not queries:
            return []
        session = self._open()
        return session.background.submit(self._ask_all(session, queries)).result()

    def close(self) -> None:
        """Close connections and thread; the next call opens new ones."""
        with self._starting:
            session, self._session = self._session, None
        if session is not None:
            session.background.submit(session.endpoint.close()).result()
            session.background.close()

    def _open(self) -> _Session:
        with self._starting:
            if self._session is None:
                above = self.options.base_url.removesuffix(_VERSION)
                endpoint = Endpoint(
                    self.options.model_copy(update={"base_url": above}),
                    read_key(self.options),
                    self._count_failure,
                )
                slots = asyncio.Semaphore(self.options.concurrency)
                self._session = _Session(BackgroundLoop("openai-tokens"), endpoint, slots)
            return self._session

    async def _ask_all(
        self, session: _Session, queries: Sequence[ContinuationQuery]
    ) -> list[FloatArray]:
        """Ask for every row of every query at once. Raises what failed, an outage first."""
        found = await asyncio.gather(*(self._ask_query(session, query) for query in queries))
        failed = [error for rows in found for error in rows if isinstance(error, ModelError)]
        if failed:
            raise min(failed, key=lambda error: not isinstance(error, ModelOutageError))
        return [_matrix([row for row in rows if isinstance(row, list)]) for rows in found]

    async def _ask_query(
        self, session: _Session, query: ContinuationQuery
    ) -> list[list[float] | ModelError]:
        """One row, or why there is none, per prompt of the query; they share its time."""
        budget = Budget(self.options.deadline_s)
        by_ids = self.options.method == "prompt_logprobs"
        said: list[int] | None = None
        try:
            if by_ids and query.prompts:
                said = await self._waiting(session, budget, self._reply_ids, query.continuation)
        except ModelError as error:
            return [error]

        async def row(prompt: Prompt) -> list[float] | ModelError:
            text = completion_text(prompt)
            try:
                if said is not None:
                    return await self._waiting(session, budget, self._row_of_ids, text, said)
                reply = f" {query.continuation}"
                return await self._waiting(session, budget, self._row_of_text, text, reply)
            except ModelError as error:
                return error

        return list(await asyncio.gather(*map(row, query.prompts)))

    async def _waiting(
        self,
        session: _Session,
        budget: Budget,
        ask: Callable[..., Coroutine[Any, Any, ValueT]],
        *what: Any,
    ) -> ValueT:
        """Wait for a free connection, then ask within what time the query has left."""
        try:
            async with budget.limit():
                await session.free.acquire()
        except BudgetSpentError:
            self._count_failure("not_asked")
            raise ServiceError(
                "not_asked", f"not asked: the {budget.seconds:g} s of this query were over"
            ) from None
        try:
            with self.breaker.call():
                deadline = budget.begin()
                async with budget.limit():
                    await session.endpoint.turn()
                    self.calls += 1
                    return await ask(session.endpoint, deadline, *what)
        except BudgetSpentError:
            self._count_failure("timeout")
            raise ServiceError(
                "timeout", f"no answer within the {budget.seconds:g} s of this query"
            ) from None
        finally:
            session.free.release()

    async def _row_of_text(
        self, endpoint: Endpoint, deadline: float, text: str, reply: str
    ) -> list[float]:
        """Send text and have it echoed."""
        payload = {"prompt": text + reply, "echo": True, "logprobs": 1, "max_tokens": 1}
        return self._count(
            await self._complete(
                endpoint, deadline, payload, lambda body: read_echo(body, text, reply)
            )
        )

    async def _row_of_ids(
        self, endpoint: Endpoint, deadline: float, text: str, said: list[int]
    ) -> list[float]:
        """Send the prompt's own tokens with the reply's behind them."""
        ids = [*await self._token_ids(endpoint, deadline, text, special=True), *said]
        payload = {"prompt": ids, "prompt_logprobs": 0, "max_tokens": 1}
        return self._count(
            await self._complete(
                endpoint, deadline, payload, lambda body: read_prompt_logprobs(body, ids, len(said))
            )
        )

    async def _reply_ids(self, endpoint: Endpoint, deadline: float, reply: str) -> list[int]:
        """A reply's tokens as they stand behind a prompt, which ends in a colon."""
        before = await self._token_ids(endpoint, deadline, _BEFORE, special=False)
        joined = await self._token_ids(endpoint, deadline, f"{_BEFORE} {reply}", special=False)
        if joined[: len(before)] != before or len(joined) == len(before):
            raise ModelError("the service's tokens of a reply run into those before it")
        return joined[len(before) :]

    async def _token_ids(
        self, endpoint: Endpoint, deadline: float, text: str, *, special: bool
    ) -> list[int]:
        payload = {
            "model": self.options.model,
            "prompt": text,
            "add_special_tokens": special,
        }
        return await endpoint.post("/tokenize", payload, read_token_ids, deadline)

    async def _complete(
        self,
        endpoint: Endpoint,
        deadline: float,
        payload: dict[str, Any],
        read: Callable[[bytes], Told],
    ) -> Told:
        common = {"model": self.options.model, "temperature": 0.0, "n": 1}
        version = _VERSION if self.options.base_url.endswith(_VERSION) else ""
        body = common | self.options.extra_body | payload
        return await endpoint.post(f"{version}/completions", body, read, deadline)

    def _count(self, told: Told) -> list[float]:
        self.tokens_in += told.tokens_in
        self.tokens_out += told.tokens_out
        return told.logs

    def _count_failure(self, kind: Kind) -> None:
        self.errors[kind] += 1


def _matrix(rows: list[list[float]]) -> FloatArray:
    """(r, t) logarithms; the service may not cut the same reply differently."""
    if len({len(row) for row in rows}) > 1:
        raise ModelError("the service cut the same reply into tokens in different ways")
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(rows[0]) if rows else 1)
