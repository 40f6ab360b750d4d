"""Text generation by any OpenAI-compatible service."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from functools import partial
from time import monotonic
from typing import Any, Final

from radarstream.connectors.models.batching import Outcome, in_order
from radarstream.connectors.models.openai_http.client import Budget, Client, budgets
from radarstream.connectors.models.openai_http.endpoint import Endpoint
from radarstream.connectors.models.openai_http.failures import RequestError, ServiceError
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.openai_http.replies import read_choice, read_completion
from radarstream.connectors.models.rendering import RENDERING_VERSION, chat_messages, ever_shorter
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.prompt import Completion, Prompt
from radarstream.schemas.tasks import ABSTENTION, TASKS

CHAT: Final = "/chat/completions"


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
        endpoint = self.client.open()
        # What the caller has not taken counts as in flight: if storing answers is slow, a crash
        # must not find a heap of answers that nobody stored.
        untaken = asyncio.Semaphore(self.options.concurrency)
        asked = zip(prompts, budgets(prompts, self.options.deadline_s), strict=True)
        places = {
            endpoint.submit(self._ask(endpoint, untaken, prompt, budget)): index
            for index, (prompt, budget) in enumerate(asked)
        }
        try:
            for future in as_completed(places):
                failure = future.exception()
                if failure is not None and not isinstance(failure, ModelError):
                    raise failure
                yield places[future], failure or future.result()
                endpoint.loop.call_soon_threadsafe(untaken.release)
        finally:
            for future in places:
                future.cancel()  # when the caller gives up half-way, so do we

    def probe(self) -> bool:
        """Ask for one word; False if the service cannot be reached within a snapshot's deadline.

        Raises ConfigurationError only when it refuses the key or does not know the model.
        """
        endpoint = self.client.open()
        word = [{"role": "user", "content": "Say yes."}]

        async def ask() -> None:
            deadline = endpoint.loop.time() + self.options.deadline_s
            async with asyncio.timeout_at(deadline):
                await endpoint.post(CHAT, self._payload(word, 16), read_choice, deadline)

        try:
            endpoint.submit(ask()).result()
        except TimeoutError:
            return False
        except (ServiceError, RequestError) as error:
            if error.kind == "key_refused":
                raise self._key_refused() from None
            if error.kind == "refused":
                raise ConfigurationError(
                    f"the service does not know the model {self.options.model!r}: {error}"
                ).mended_by("set `model` to one that the service has") from None
            return error.kind not in {"connection", "timeout"}
        return True

    def _key_refused(self) -> ConfigurationError:
        key = self.options.api_key_variable
        where = f"the key in {key}" if key else "requests without a key: set api_key_variable"
        remedy = f"export {key}=…" if key else "set `api_key_variable`"
        return ConfigurationError(f"the service refuses {where}").mended_by(remedy)

    def close(self) -> None:
        """Close connections and thread; the next call opens new ones."""
        self.client.close()

    async def _ask(
        self, endpoint: Endpoint, untaken: asyncio.Semaphore, prompt: Prompt, budget: Budget
    ) -> Completion:
        await untaken.acquire()
        async with self.client.turn(endpoint, budget) as deadline:
            completion = await self._answer(prompt, endpoint, deadline)
        self.client.count_tokens(completion.prompt_tokens, completion.completion_tokens)
        return completion

    async def _answer(self, prompt: Prompt, endpoint: Endpoint, deadline: float) -> Completion:
        """Ask, with the passages cut in half as long as the service says they are too long."""
        too_long = RequestError("too_long", "the prompt exceeds the model's context")
        for shorter in ever_shorter(prompt):
            read = partial(read_completion, prompt=shorter)
            try:
                payload = self._payload(chat_messages(shorter), prompt.max_tokens)
                return await endpoint.post(CHAT, payload, read, deadline)
            except RequestError as failure:
                if failure.kind == "filtered" and TASKS[prompt.task].one_passage:
                    return Completion(ABSTENTION)
                if failure.kind != "too_long":
                    raise
                too_long = failure
        raise too_long

    def _payload(self, messages: list[dict[str, str]], max_tokens: int) -> dict[str, Any]:
        o = self.options
        payload: dict[str, Any] = {
            "model": o.model,
            "messages": messages,
            o.max_tokens_field: max_tokens + o.extra_tokens,
        }
        if o.temperature is not None:
            payload["temperature"] = o.temperature
        if o.seed is not None:
            payload["seed"] = o.seed
        return payload | o.extra_body
