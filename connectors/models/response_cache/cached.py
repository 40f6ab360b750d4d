"""A model of any port whose replies are looked up before it is asked and stored before use."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from time import perf_counter
from typing import Any

import numpy as np

from radarstream.connectors.models.batching import AnswersEach
from radarstream.connectors.models.response_cache.entries import ENTRIES, ByPrompt, digest_of
from radarstream.connectors.models.response_cache.store import ResponseCache
from radarstream.connectors.models.wrapping import Call, Method, Replies, Wrapped
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion
from radarstream.schemas.tokens import ContinuationQuery


class Cached(Wrapped):
    """A model whose replies are kept in a `ResponseCache`.

    A model that gives each completion as soon as it is there has each stored at once, so that a
    crash repeats only calls in flight; others are asked, and their replies stored, `chunk`
    requests at a time (None: the number in `ENTRIES`). Log-probabilities are stored prompt by
    prompt. Distributions of next tokens are a megabyte each: they are not stored.

    `hits` counts requests that did not reach the model (found, or repeated within the batch),
    `calls` those that did, including a chunk that failed; `answered` those of them that are done.
    """

    def __init__(self, model: Any, cache: ResponseCache, *, chunk: int | None = None) -> None:
        if chunk is not None and chunk < 1:
            raise ValueError(f"chunk must be positive, got {chunk}")
        super().__init__(model, self._looked_up)
        self._cache = cache
        self._chunk = chunk
        self.hits = 0
        self.calls = 0
        self.answered = 0

    def _looked_up(self, call: Call) -> Replies:
        """One reply per request, in order; what was answered before a failure stays stored."""
        match call.method:
            case Method.NEXT_TOKENS:
                return call.ask()
            case Method.LOG_PROBS:
                single = [ContinuationQuery((p,), q.continuation) for q in call.requests
                          for p in q.prompts]  # fmt: skip
                rows = iter(self._stored(Call(ByPrompt(call.model), call.method, single)))
                return [
                    np.stack([next(rows) for _ in q.prompts]) if q.prompts else np.empty((0, 1))
                    for q in call.requests
                ]
        return self._stored(call)

    def _stored(self, call: Call) -> list[Any]:
        entry = ENTRIES[call.method]
        prefix = digest_of(entry.name, self.model_id)
        keys = [sha256(prefix + entry.digest(request)).digest() for request in call.requests]
        found = self._cache.get(keys)
        missing = {k: r for k, r in zip(keys, call.requests, strict=True) if k not in found}
        names = list(missing)
        self.hits += len(keys) - len(missing)
        failed: dict[bytes, ModelError] = {}
        for part in self._parts(replace(call, requests=list(missing.values()))):
            self.answered += len(part)
            encoded = {}
            for index, reply in part:
                if isinstance(reply, ModelError):
                    failed[names[index]] = reply
                else:
                    encoded[names[index]] = entry.encode(reply)
            self._cache.put(encoded, {key: entry.subject(missing[key]) for key in encoded})
            found |= encoded
        return [failed.get(key) or entry.decode(found[key]) for key in keys]

    def _parts(self, call: Call) -> Iterator[Sequence[tuple[int, Any]]]:
        """Ask for all requests; yield replies with their request's index, as many as are there."""
        if call.method is Method.COMPLETE and isinstance(call.model, AnswersEach):
            yield from self._each(call.model, call.requests)
            return
        entry, started = ENTRIES[call.method], 0
        while chunk := call.requests[started : started + (self._chunk or entry.chunk)]:
            self.calls += len(chunk)
            asked = perf_counter()
            replies = entry.check(call.ask(chunk), self.model_id)
            share = (perf_counter() - asked) / len(chunk)
            yield [(started + i, timed(reply, share)) for i, reply in enumerate(replies)]
            started += len(chunk)

    def _each(
        self, model: AnswersEach, prompts: Sequence[Any]
    ) -> Iterator[Sequence[tuple[int, Any]]]:
        """One completion at a time. Raises ModelError when some prompt got no outcome."""
        left = set(range(len(prompts)))
        self.calls += len(prompts)
        asked = perf_counter()
        for index, outcome in model.complete_each(prompts):
            left.discard(index)
            yield [(index, timed(outcome, perf_counter() - asked))]
            asked = perf_counter()
        if left:
            raise ModelError(
                f"{self.model_id} left {len(left)} of {len(prompts)} prompts unanswered"
            )


def timed(reply: Any, seconds: float) -> Any:
    """The reply; a completion with the seconds it took."""
    return replace(reply, seconds=seconds) if isinstance(reply, Completion) else reply
