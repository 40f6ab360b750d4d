"""Text generation by any OpenAI-compatible service."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final

from radarstream.connectors.models.openai_http.budget import Budget, budgets
from radarstream.connectors.models.openai_http.client import Client, Session
from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.failures import RequestError
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.openai_http.probe import Capabilities, probe
from radarstream.connectors.models.openai_http.reply import read_completion
from radarstream.connectors.models.outcomes import Outcome, in_order
from radarstream.connectors.models.rendering import RENDERING_VERSION, chat_messages, with_passages
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion, Prompt
from radarstream.schemas.tasks import ABSTENTION, TASKS

CHAT: Final = "/chat/completions"
SHORTEST_PASSAGE: Final = 40  # characters; below this a prompt that does not fit is an error
_Arrival = tuple[int, Completion | BaseException]


class OpenAiGenerator:
    """One model behind an endpoint; many requests in flight over kept connections.

    Every prompt is asked on its own and fails on its own, with a ModelOutageError when the service
    is at fault (down, slow, refusing us) and a ModelError when only this request has no answer.
    Usable from several threads. Pickles as its options. Raises ConfigurationError when the
    variable that should hold the key does not. `client` counts what was asked.
    """

    def __init__(self, options: OpenAiOptions, *, clock: Callable[[], float] = monotonic) -> None:
        self.options = options
        self.client = Client(options, clock=clock)

    def __repr__(self) -> str:
        return f"OpenAiGenerator({self.model_id!r})"

    @property
    def model_id(self) -> str:
        """Service, model, sampling, and how prompts are rendered."""
        o = self.options
        sampling = [o.temperature, o.seed, o.extra_body, o.max_tokens_field, o.extra_tokens]
        return self.client.model_id(sampling, f"chat-{RENDERING_VERSION}")

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
        session = self.client.open()
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

        session = self.client.open()
        return session.background.submit(within(session.endpoint)).result()

    def close(self) -> None:
        """Close connections and thread; the next call opens new ones."""
        self.client.close()

    async def _ask_all(
        self,
        session: Session,
        prompts: Sequence[Prompt],
        untaken: asyncio.Semaphore,
        report: Callable[[_Arrival], None],
    ) -> None:
        async def ask(index: int, prompt: Prompt, budget: Budget) -> None:
            try:
                await self.client.wait(untaken, budget)
                report((index, await self._ask(session, prompt, budget)))
            except ModelError as error:
                report((index, error))
            except BaseException as error:  # a defect or a cancellation: whoever waits must know
                report((index, error))
                raise

        shared = budgets(prompts, self.options.deadline_s)
        await asyncio.gather(*map(ask, range(len(prompts)), prompts, shared))

    async def _ask(self, session: Session, prompt: Prompt, budget: Budget) -> Completion:
        completion = await self.client.ask(session, budget, partial(self._answer, prompt))
        self.client.count_tokens(completion.prompt_tokens, completion.completion_tokens)
        return completion

    async def _answer(self, prompt: Prompt, endpoint: Endpoint, deadline: float) -> Completion:
        """Ask, with the passages cut in half as long as the service says they are too long."""
        characters = max(map(len, prompt.passages), default=0)
        while True:
            read = partial(read_completion, prompt=prompt)
            try:
                return await endpoint.post(CHAT, self._payload(prompt), read, deadline)
            except RequestError as failure:
                if failure.kind == "filtered" and TASKS[prompt.task].one_passage:
                    return Completion(ABSTENTION)
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
