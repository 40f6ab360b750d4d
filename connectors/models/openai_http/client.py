"""The client of one service for one section of the settings: time limits, circuit, counts."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from threading import Lock
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from radarstream.connectors.models.circuit_breaker import CircuitBreaker
from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.failures import Kind, ServiceError
from radarstream.connectors.models.openai_http.options import VERSION, OpenAiOptions
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.section import read_secret
from radarstream.schemas.tasks import TASKS

_KEY: Final = re.compile(r"[!-~]+")  # characters of a header's value


class Budget:
    """The time for all requests of one stage of one snapshot, from the first request on.

    Waiting for a connection before that does not count, so that a large batch does not fail.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline: float | None = None

    def begin(self) -> float:
        """Start the time, if it has not started; return the deadline by the loop's clock."""
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self.seconds
        return self._deadline


def budgets(prompts: Sequence[Prompt], deadline_s: float) -> list[Budget]:
    """Return a budget per prompt; neighbours with the same task and question share one."""
    found: list[Budget] = []
    previous: tuple[Task, str] | None = None
    for prompt in prompts:
        stage = (prompt.task, prompt.question)
        share = TASKS[prompt.task].deadline_share
        found.append(found[-1] if stage == previous else Budget(deadline_s * share))
        previous = stage
    return found


class Client:
    """Asks one service within the limits of its options.

    Thread-safe; pickled as its options. Raises ConfigurationError for a missing or invalid key.
    `calls` counts prompts that got a connection, `errors` failed attempts by kind, `tokens_in` and
    `tokens_out` the tokens that the service reports.
    """

    def __init__(self, options: OpenAiOptions, *, clock: Callable[[], float] = monotonic) -> None:
        read_key(options)  # raises for a missing key before the first request
        self.options = options
        self.breaker = CircuitBreaker(
            failures=options.failures_to_open,
            cool_down_s=options.cool_down_s,
            service=options.base_url,
            clock=clock,
        )
        self.calls = 0
        self.errors: Counter[str] = Counter()
        self.tokens_in = 0
        self.tokens_out = 0
        self._endpoint: Endpoint | None = None
        self._starting = Lock()

    def __reduce__(self) -> tuple[type["Client"], tuple[OpenAiOptions]]:
        return type(self), (self.options,)

    @property
    def cost(self) -> float:
        """The price of the tokens, by the prices of the options."""
        o = self.options
        return (self.tokens_in * o.price_in + self.tokens_out * o.price_out) / 1e6

    def model_id(self, how: object, form: str) -> str:
        """Return service, model, a digest of the request's parameters `how`, and the `form` of
        prompts. The service is included, because a name such as "default" is not unique.
        """
        o = self.options
        parts = urlsplit(o.base_url)
        service = o.service or parts.netloc + parts.path.removesuffix(VERSION)
        digest = sha256(json.dumps(how, sort_keys=True).encode()).hexdigest()[:8]
        return f"openai/{service}/{o.model}/{digest}/{form}"

    def open(self) -> Endpoint:
        """Return the endpoint, connecting on first use."""
        with self._starting:
            if self._endpoint is None:
                self._endpoint = Endpoint(self.options, read_key(self.options), self._count_failure)
            return self._endpoint

    def close(self) -> None:
        """Close connections and thread; `open` makes new ones."""
        with self._starting:
            endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            endpoint.close()

    @asynccontextmanager
    async def turn(self, endpoint: Endpoint, budget: Budget) -> AsyncIterator[float]:
        """Wait for a free connection; yield the deadline of the enclosed block by the loop's clock.

        Raises ModelOutageError if the circuit is open, ServiceError if the budget is spent.
        """
        await endpoint.free.acquire()
        try:
            with self.breaker.call():
                deadline = budget.begin()
                part = f"{budget.seconds:g} s, its part of the deadline"
                if endpoint.loop.time() >= deadline:
                    raise self._counted("not_asked", f"not asked: {part}, were over")
                scope = asyncio.timeout_at(deadline)
                try:
                    async with scope:
                        self.calls += 1
                        yield deadline
                except TimeoutError:
                    if not scope.expired():
                        raise
                    said = f"no answer from {self.options.base_url} within {part}"
                    raise self._counted("timeout", said) from None
        finally:
            endpoint.free.release()

    def _counted(self, kind: Kind, detail: str) -> ServiceError:
        self._count_failure(kind)
        return ServiceError(kind, detail)

    def count_tokens(self, tokens_in: int, tokens_out: int) -> None:
        """Add the tokens that the service reports for a prompt."""
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out

    def _count_failure(self, kind: Kind) -> None:
        self.errors[kind] += 1


def read_key(options: OpenAiOptions) -> str:
    """Return the key, "" if the service needs none. Raises ConfigurationError if it is invalid."""
    if not options.api_key_variable:
        return ""
    key = read_secret(options.api_key_variable)
    if not _KEY.fullmatch(key):
        raise ConfigurationError(
            f"the environment variable {options.api_key_variable} holds characters that no key "
            "can have (a line break?)"
        ).mended_by(f"export {options.api_key_variable}=…")
    return key
