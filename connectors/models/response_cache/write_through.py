"""What every model that remembers has in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np

from radarstream.connectors.models.response_cache.store import ResponseCache
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")
ModelT = TypeVar("ModelT", bound="Model")


class Model(Protocol):
    """Whose answers can be remembered."""

    @property
    def model_id(self) -> str:
        """Names everything that decides an answer."""
        ...


class WriteThrough(ABC, Generic[ModelT, RequestT, AnswerT]):
    """A model whose answers are looked up before it is asked and stored before they are used.

    `hits` counts requests that did not reach the model (found, or repeated within the batch),
    `calls` those that did, including a chunk that failed; `answered` those of them that are done.
    """

    kind: ClassVar[str]  # part of the key; its number changes with the encoding

    def __init__(self, model: ModelT, cache: ResponseCache, *, chunk: int) -> None:
        if chunk < 1:
            raise ValueError(f"chunk must be positive, got {chunk}")
        self._model = model
        self._cache = cache
        self._chunk = chunk
        self.hits = 0
        self.calls = 0
        self.answered = 0

    @property
    def wrapped(self) -> ModelT:
        """The model that is asked for what is not stored."""
        return self._model

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self._model.model_id

    def _answers(self, requests: Sequence[RequestT]) -> list[AnswerT]:
        """One answer per request, in order. What was answered before a failure stays stored.

        Raises PartialModelError when requests failed on their own.
        """
        prefix = digest_of(self.kind, self.model_id)
        keys = [sha256(prefix + self._request_digest(request)).digest() for request in requests]
        stored = self._cache.get(keys)
        missing = {key: r for key, r in zip(keys, requests, strict=True) if key not in stored}
        self.hits += len(requests) - len(missing)
        failed: dict[bytes, ModelError] = {}
        for part in self._parts(missing):
            encoded = {}
            self.answered += len(part)
            for key, outcome in part.items():
                if isinstance(outcome, ModelError):
                    failed[key] = outcome
                else:
                    encoded[key] = self._encode(outcome)
            self._cache.put(encoded, {key: self._subject(missing[key]) for key in encoded})
            stored |= encoded
        if failed:
            raise PartialModelError([failed.get(k) or self._decode(stored[k]) for k in keys])
        return [self._decode(stored[key]) for key in keys]

    def _parts(
        self, missing: Mapping[bytes, RequestT]
    ) -> Iterator[Mapping[bytes, AnswerT | ModelError]]:
        """Ask for all requests; yield outcomes by key, as many at a time as are there."""
        queue = iter(missing.items())
        while chunk := dict(islice(queue, self._chunk)):
            self.calls += len(chunk)
            answers = self._ask(list(chunk.values()))
            if len(answers) != len(chunk):
                raise ModelError(
                    f"{self.model_id} gave {len(answers)} answers to {len(chunk)} requests"
                )
            yield dict(zip(chunk, answers, strict=True))

    @abstractmethod
    def _request_digest(self, request: RequestT) -> bytes: ...

    @abstractmethod
    def _subject(self, request: RequestT) -> bytes: ...

    @abstractmethod
    def _ask(self, requests: Sequence[RequestT]) -> Sequence[AnswerT]: ...

    @abstractmethod
    def _encode(self, answer: AnswerT) -> bytes: ...

    @abstractmethod
    def _decode(self, value: bytes) -> AnswerT: ...


def checked_rows(rows: FloatArray, model_id: str) -> FloatArray:
    """Refuse to store what is not a matrix of finite numbers."""
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ModelError(f"{model_id} did not return a matrix of finite numbers")
    return rows


def digest_of(*texts: str) -> bytes:
    """32 bytes that differ whenever any of the texts differs."""
    digest = sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()
