"""One service as one section of the settings uses it: limits in time, a circuit, counts."""

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

_KEY: Final = re.compile(r"[!-~]+")  # anything else cannot stand in a header


class Budget:
    """The time of one stage of one snapshot: it runs from the first request for all of them.

    Waiting behind other snapshots for a free connection does not count, or a large batch would
    fail at a healthy service.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline: float | None = None

    def begin(self) -> float:
        """Let the time run, if it does not already; the deadline by the loop's clock."""
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().time() + self.seconds
        return self._deadline


def budgets(prompts: Sequence[Prompt], deadline_s: float) -> list[Budget]:
    """One budget per prompt, the same for prompts of a stage of a snapshot.

    Neighbours with the same task and question are taken to be of one snapshot.
    """
    found: list[Budget] = []
    previous: tuple[Task, str] | None = None
    for prompt in prompts:
        stage = (prompt.task, prompt.question)
        share = TASKS[prompt.task].deadline_share
        found.append(found[-1] if stage == previous else Budget(deadline_s * share))
        previous = stage
    return found


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

    def open(self) -> Endpoint:
        """Return the connections, on first use new ones."""
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
        """Wait for a free connection; the deadline of what is enclosed, by the loop's clock.

        Raises ModelOutageError when the circuit is open, ServiceError when the budget is spent.
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
