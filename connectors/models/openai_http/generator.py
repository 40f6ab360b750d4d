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
    """A generator by a model of a service, with parallel requests.

    Every prompt is one request and fails alone: with a ModelOutageError if the service is down,
    slow or refuses us, with a ModelError if only this request has no answer. Thread-safe; pickled
    as its options. Raises ConfigurationError for a missing or invalid key. `client` has the counts.
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
        """Return one completion per prompt, in order. Raises PartialModelError if any failed."""
        return in_order(self.complete_each(prompts), len(prompts))

    def complete_each(self, prompts: Sequence[Prompt]) -> Iterator[Outcome]:
        """Yield each prompt's index with its outcome, as soon as it is ready."""
        if not prompts:
            return
        endpoint = self.client.open()
        # Answers that the caller has not taken count as in flight: if storing them is slow, a crash
        # must not lose many.
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
                future.cancel()  # for a caller that stops early

    def probe(self) -> bool:
        """Ask for one word; False if the service does not answer within a snapshot's deadline.

        Raises ConfigurationError if it refuses the key or does not know the model.
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
        """Ask, cutting the passages in half while the service says that they are too long."""
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
