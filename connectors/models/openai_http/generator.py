"""Text generation by any OpenAI-compatible service."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from queue import SimpleQueue
from threading import Lock
from time import monotonic
from typing import Any, Final
from urllib.parse import urlsplit

from connectors.models.circuit_breaker import CircuitBreaker
from connectors.models.openai_http.background_loop import BackgroundLoop
from connectors.models.openai_http.budget import Budget, BudgetSpentError, budgets
from connectors.models.openai_http.endpoint import Endpoint
from connectors.models.openai_http.failures import Kind, RequestError, ServiceError
from connectors.models.openai_http.options import OpenAiOptions
from connectors.models.openai_http.probe import Capabilities, probe
from connectors.models.openai_http.reply import DECLINED, read_completion
from connectors.models.outcomes import Outcome, in_order
from connectors.models.rendering import RENDERING_VERSION, chat_messages, with_passages
from schemas.errors import ConfigurationError, ModelError
from schemas.prompt import Completion, Prompt, Task
from schemas.section import read_secret

CHAT: Final = "/chat/completions"
SHORTEST_PASSAGE: Final = 40  # characters; below this a prompt that does not fit is an error
_KEY: Final = re.compile(r"[!-~]+")  # anything else cannot stand in a header
_Arrival = tuple[int, Completion | BaseException]


@dataclass(frozen=True, slots=True)
class _Session:
    """What lives in the event loop."""

    background: BackgroundLoop
    endpoint: Endpoint
    free: asyncio.Semaphore


class OpenAiGenerator:
    """One model behind an endpoint; many requests in flight over kept connections.

    Every prompt is asked on its own and fails on its own, with a ModelOutageError when the service
    is at fault (down, slow, refusing us) and a ModelError when only this request has no answer.
    Usable from several threads. Pickles as its options. Raises ConfigurationError when the
    variable that should hold the key does not.

    `calls` counts prompts sent, `errors` failed attempts by kind, `tokens_in` and `tokens_out` what
    the service says it used, `cost` their price.
    """

    def __init__(self, options: OpenAiOptions, *, clock: Callable[[], float] = monotonic) -> None:
        read_key(options)  # a missing one is known before the first request
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

    def __reduce__(self) -> tuple[type["OpenAiGenerator"], tuple[OpenAiOptions]]:
        return type(self), (self.options,)

    def __repr__(self) -> str:
        return f"OpenAiGenerator({self.model_id!r})"

    @property
    def model_id(self) -> str:
        """Service, model, sampling, and how prompts are rendered.

        The service belongs to it: names as "default" mean another model elsewhere.
        """
        o = self.options
        parts = urlsplit(o.base_url)
        place = parts.netloc + parts.path.removesuffix("/v1")
        sampling = [o.temperature, o.seed, o.extra_body, o.max_tokens_field, o.extra_tokens]
        digest = sha256(json.dumps(sampling, sort_keys=True).encode()).hexdigest()[:8]
        return f"openai/{o.service or place}/{o.model}/{digest}/chat-{RENDERING_VERSION}"

    @property
    def cost(self) -> float:
        """What the tokens cost at the prices of the options, in their currency."""
        o = self.options
        return (self.tokens_in * o.price_in + self.tokens_out * o.price_out) / 1e6

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order. Raises PartialModelError, also if all failed."""
        return in_order(self.complete_each(prompts), len(prompts))

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield each prompt's index with its outcome, as they come in."""
        if not prompts:
            return
        arrived: SimpleQueue[_Arrival] = SimpleQueue()
        # What the caller has not taken counts as in flight: if storing answers is slow, a crash
        # must not find a heap of answers that nobody stored.
        untaken = asyncio.Semaphore(self.options.concurrency)
        session = self._open()
        asking = session.background.submit(self._ask_all(session, prompts, untaken, arrived.put))
        try:
            for _ in prompts:
                index, outcome = arrived.get()
                if not isinstance(outcome, Completion | ModelError):
                    raise outcome
                yield index, outcome
                session.background.loop.call_soon_threadsafe(untaken.release)
        finally:
            asking.cancel()  # when the caller gives up half-way, so do we

    def probe(self) -> Capabilities:
        """Find out what the service can do, within the deadline of a snapshot.

        Raises ConfigurationError when it refuses the key or does not know the model.
        """

        async def within(endpoint: Endpoint) -> Capabilities:
            deadline = asyncio.get_running_loop().time() + self.options.deadline_s
            try:
                async with asyncio.timeout_at(deadline):
                    return await probe(endpoint, self.options, deadline)
            except TimeoutError:
                return Capabilities(reachable=False)

        session = self._open()
        return session.background.submit(within(session.endpoint)).result()

    def _open(self) -> _Session:
        """Return the loop and the connections, on first use new ones."""
        with self._starting:
            if self._session is None:
                endpoint = Endpoint(self.options, read_key(self.options), self._count_failure)
                slots = asyncio.Semaphore(self.options.concurrency)
                self._session = _Session(BackgroundLoop("openai-http"), endpoint, slots)
            return self._session

    def close(self) -> None:
        """Close connections and thread; the next call opens new ones."""
        with self._starting:
            session, self._session = self._session, None
        if session is not None:
            session.background.submit(session.endpoint.close()).result()
            session.background.close()

    async def _ask_all(
        self,
        session: _Session,
        prompts: Sequence[Prompt],
        untaken: asyncio.Semaphore,
        report: Callable[[_Arrival], None],
    ) -> None:
        async def ask(index: int, prompt: Prompt, budget: Budget) -> None:
            try:
                await self._wait(untaken, budget)
                report((index, await self._ask(session, prompt, budget)))
            except ModelError as error:
                report((index, error))
            except BaseException as error:  # a defect or a cancellation: whoever waits must know
                report((index, error))
                raise

        shared = budgets(prompts, self.options.deadline_s)
        await asyncio.gather(*map(ask, range(len(prompts)), prompts, shared))

    async def _ask(self, session: _Session, prompt: Prompt, budget: Budget) -> Completion:
        """Wait for a free connection, then ask."""
        await self._wait(session.free, budget)
        try:
            with self.breaker.call():
                return await self._ask_in_time(session.endpoint, prompt, budget)
        finally:
            session.free.release()

    async def _wait(self, semaphore: asyncio.Semaphore, budget: Budget) -> None:
        """Wait for our turn, within the budget if it runs already."""
        try:
            async with budget.limit():
                await semaphore.acquire()
        except BudgetSpentError:
            self._count_failure("not_asked")
            raise ServiceError(
                "not_asked", f"not asked: the {budget.seconds:g} s of this stage were over"
            ) from None

    async def _ask_in_time(self, endpoint: Endpoint, prompt: Prompt, budget: Budget) -> Completion:
        deadline = budget.begin()
        try:
            async with budget.limit():
                await endpoint.turn()
                self.calls += 1
                completion = await self._answer(endpoint, prompt, deadline)
        except BudgetSpentError:
            self._count_failure("timeout")
            raise ServiceError(
                "timeout", f"no answer within the {budget.seconds:g} s of this stage"
            ) from None
        self.tokens_in += completion.prompt_tokens
        self.tokens_out += completion.completion_tokens
        return completion

    async def _answer(self, endpoint: Endpoint, prompt: Prompt, deadline: float) -> Completion:
        """Ask, with the passages cut in half as long as the service says they are too long."""
        characters = max(map(len, prompt.passages), default=0)
        while True:
            read = partial(read_completion, prompt=prompt)
            try:
                return await endpoint.post(CHAT, self._payload(prompt), read, deadline)
            except RequestError as failure:
                if failure.kind == "filtered" and prompt.task is Task.ATOMIC_ANSWER:
                    return Completion(DECLINED)
                if failure.kind != "too_long" or characters < SHORTEST_PASSAGE:
                    raise
            characters //= 2
            prompt = with_passages(prompt, characters)

    def _payload(self, prompt: Prompt) -> dict[str, Any]:
        o = self.options
        payload: dict[str, Any] = {
            "model": o.model,
            "messages": chat_messages(prompt),
            o.max_tokens_field: prompt.max_tokens + o.extra_tokens,
        }
        if o.temperature is not None:
            payload["temperature"] = o.temperature
        if o.seed is not None:
            payload["seed"] = o.seed
        return payload | o.extra_body

    def _count_failure(self, kind: Kind) -> None:
        self.errors[kind] += 1


def read_key(options: OpenAiOptions) -> str:
    """Return the key, "" where the service wants none; ConfigurationError if it cannot be one."""
    if not options.api_key_variable:
        return ""
    key = read_secret(options.api_key_variable)
    if not _KEY.fullmatch(key):
        raise ConfigurationError(
            f"the environment variable {options.api_key_variable} holds characters that no key "
            "can have (a line break?)"
        )
    return key
