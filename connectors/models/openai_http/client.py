"""One service as one section of the settings uses it: connections, limits, a circuit, counts."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from time import monotonic
from typing import Final, TypeVar
from urllib.parse import urlsplit

from radarstream.connectors.models.circuit_breaker import CircuitBreaker
from radarstream.connectors.models.openai_http.background_loop import BackgroundLoop
from radarstream.connectors.models.openai_http.budget import Budget, BudgetSpentError
from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.failures import Kind, ServiceError
from radarstream.connectors.models.openai_http.options import VERSION, OpenAiOptions
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.section import read_secret

_KEY: Final = re.compile(r"[!-~]+")  # anything else cannot stand in a header
ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, slots=True)
class Session:
    """What lives in the event loop; `free` counts the requests that may yet be in flight."""

    background: BackgroundLoop
    endpoint: Endpoint
    free: asyncio.Semaphore


class Client:
    """Asks one service, within the limits of its own options; shares nothing with other clients.

    Usable from several threads. Pickles as its options. Raises ConfigurationError when the
    variable that should hold the key does not.

    `calls` counts prompts that got a connection, `errors` failed attempts by kind, `tokens_in` and
    `tokens_out` what the service says it used, `cost` their price.
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
        self._session: Session | None = None
        self._starting = Lock()

    def __reduce__(self) -> tuple[type["Client"], tuple[OpenAiOptions]]:
        return type(self), (self.options,)

    @property
    def cost(self) -> float:
        """What the tokens cost at the prices of the options, in their currency."""
        o = self.options
        return (self.tokens_in * o.price_in + self.tokens_out * o.price_out) / 1e6

    def model_id(self, how: object, form: str) -> str:
        """Service, model, a digest of `how` it is asked (as JSON), and the form of its prompts.

        The service belongs to it: names as "default" mean another model elsewhere.
        """
        o = self.options
        parts = urlsplit(o.base_url)
        service = o.service or parts.netloc + parts.path.removesuffix(VERSION)
        digest = sha256(json.dumps(how, sort_keys=True).encode()).hexdigest()[:8]
        return f"openai/{service}/{o.model}/{digest}/{form}"

    def open(self) -> Session:
        """Return the loop and the connections, on first use new ones."""
        with self._starting:
            if self._session is None:
                endpoint = Endpoint(self.options, read_key(self.options), self._count_failure)
                slots = asyncio.Semaphore(self.options.concurrency)
                self._session = Session(BackgroundLoop("openai-http"), endpoint, slots)
            return self._session

    def close(self) -> None:
        """Close connections and thread; `open` makes new ones."""
        with self._starting:
            session, self._session = self._session, None
        if session is not None:
            session.background.submit(session.endpoint.close()).result()
            session.background.close()

    async def ask(
        self,
        session: Session,
        budget: Budget,
        send: Callable[[Endpoint, float], Awaitable[ReplyT]],
    ) -> ReplyT:
        """Wait for a free connection, then `send`, given the deadline by the loop's clock.

        Raises ModelOutageError when the circuit is open, ServiceError when the budget is spent,
        and what `send` raises.
        """
        await self.wait(session.free, budget)
        try:
            with self.breaker.call():
                return await self._send_in_time(session.endpoint, budget, send)
        finally:
            session.free.release()

    async def wait(self, semaphore: asyncio.Semaphore, budget: Budget) -> None:
        """Wait for our turn, within the budget if it runs already. Raises ServiceError."""
        try:
            async with budget.limit():
                await semaphore.acquire()
        except BudgetSpentError:
            self._count_failure("not_asked")
            raise ServiceError(
                "not_asked", f"not asked: {budget.seconds:g} s, its part of the deadline, were over"
            ) from None

    async def _send_in_time(
        self,
        endpoint: Endpoint,
        budget: Budget,
        send: Callable[[Endpoint, float], Awaitable[ReplyT]],
    ) -> ReplyT:
        deadline = budget.begin()
        try:
            async with budget.limit():
                self.calls += 1
                return await send(endpoint, deadline)
        except BudgetSpentError:
            self._count_failure("timeout")
            raise ServiceError(
                "timeout", f"no answer within {budget.seconds:g} s, its part of the deadline"
            ) from None

    def count_tokens(self, tokens_in: int, tokens_out: int) -> None:
        """Add what the service says one prompt took."""
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

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
        ).mended_by(f"export {options.api_key_variable}=…")
    return key
