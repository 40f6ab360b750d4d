"""Completions that are remembered."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from time import perf_counter
from typing import Protocol

from radarstream.connectors.models.outcomes import AnswersEach
from radarstream.connectors.models.response_cache.store import ResponseCache
from radarstream.connectors.models.response_cache.write_through import Model, WriteThrough
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion, Prompt


class _Generator(Model, Protocol):
    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]: ...


class CachedGenerator(WriteThrough[_Generator, Prompt, Completion]):
    """A generator that remembers.

    Completions of a generator that gives each as soon as it is there are stored at once, so that a
    crash repeats only calls in flight; others are asked for and stored `chunk` prompts at a time.
    """

    kind = "completion/1"

    def __init__(self, model: _Generator, cache: ResponseCache, *, chunk: int = 32) -> None:
        super().__init__(model, cache, chunk=chunk)

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order. Raises ModelError (Partial… if some fail)."""
        return self._answers(prompts)

    def _parts(
        self, missing: Mapping[bytes, Prompt]
    ) -> Iterator[Mapping[bytes, Completion | ModelError]]:
        if not isinstance(self._model, AnswersEach):
            yield from super()._parts(missing)
            return
        keys = list(missing)
        left = set(keys)
        self.calls += len(keys)
        asked = perf_counter()
        for index, outcome in self._model.complete_each(list(missing.values())):
            left.discard(keys[index])
            arrived = perf_counter()
            yield {keys[index]: _timed(outcome, arrived - asked)}
            asked = perf_counter()
        if left:
            raise ModelError(f"{self.model_id} left {len(left)} of {len(keys)} prompts unanswered")

    def _request_digest(self, request: Prompt) -> bytes:
        return request.digest()

    def _subject(self, request: Prompt) -> bytes:
        return question_subject(request.question)

    def _ask(self, requests: Sequence[Prompt]) -> Sequence[Completion]:
        asked = perf_counter()
        completions = self._model.complete(requests)
        share = (perf_counter() - asked) / len(requests)
        return [replace(completion, seconds=share) for completion in completions]

    def _encode(self, answer: Completion) -> bytes:
        return json.dumps(asdict(answer), separators=(",", ":")).encode("ascii")

    def _decode(self, value: bytes) -> Completion:
        return Completion(**json.loads(value))


def _timed(outcome: Completion | ModelError, seconds: float) -> Completion | ModelError:
    return outcome if isinstance(outcome, ModelError) else replace(outcome, seconds=seconds)
