"""Answers that models already gave, kept in the state database: asking again costs no call.

Answers are written as soon as the model gives them, one by one or chunk by chunk, each time in a
transaction of its own, so that a crash repeats only what was in flight. What a wrapper returns is
always decoded from the bytes it stored, so a run that finds its answers and a run that asks for
them agree exactly.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from itertools import islice
from time import perf_counter
from typing import ClassVar, Generic, Protocol, TypeVar
from zlib import crc32

import numpy as np
from sqlalchemy import Engine, bindparam, delete, func, select, update

from connectors.models.outcomes import AnswersEach
from connectors.state_table.engine import retry_contended
from connectors.state_table.subject import EMBEDDINGS, question_subject
from connectors.state_table.tables import RESPONSE_CACHE, dialect_insert
from schemas.errors import ModelError, PartialModelError
from schemas.evidence import FloatArray
from schemas.prompt import AnswerPair, Completion, Prompt
from schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows

KEYS_PER_SELECT = 500
CHECKSUM_BYTES = 4
_KEY, _VALUE, _STAMP = RESPONSE_CACHE.c.key, RESPONSE_CACHE.c.value, RESPONSE_CACHE.c.stamp

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")
ModelT = TypeVar("ModelT", bound="_Model")


class ResponseCache:
    """Bounded store of byte strings under 32-byte keys; shared by processes through the database.

    Holds at most `max_entries` (each further process that writes at the same time may add a tenth
    before it counts again). When full, the tenth that was written or used longest ago goes. A
    damaged value, told by its checksum, counts as absent.
    """

    def __init__(self, engine: Engine, *, max_entries: int = 1_000_000) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries must be positive, got {max_entries}")
        self._engine = engine
        self._max_entries = max_entries
        self._writes_before_count = 0

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the keys that are present and sound."""
        wanted = iter(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        fading: list[bytes] = []
        newest = select(func.max(_STAMP)).scalar_subquery()
        with self._engine.connect() as connection:
            while chunk := list(islice(wanted, KEYS_PER_SELECT)):
                statement = select(_KEY, _VALUE, newest - _STAMP).where(_KEY.in_(chunk))
                for key, sealed, age in connection.execute(statement):
                    value = bytes(sealed[CHECKSUM_BYTES:])
                    if sealed == _seal(key, value):
                        found[key] = value
                        if age > self._max_entries // 2:
                            fading.append(key)
        if fading:
            self._refresh(fading)
        return found

    def put(
        self, values: Mapping[bytes, bytes], subjects: Mapping[bytes, bytes] | None = None
    ) -> None:
        """Write all values in one transaction, over those already there.

        `subjects` tells by key whom a value is about, for `connectors.state_table.forgetting`.
        """
        if not values:
            return
        about = subjects or {}
        # In order of the key, so that two writers of the same keys cannot deadlock.
        rows = [
            {"key": key, "value": _seal(key, value), "subject": about.get(key)}
            for key, value in sorted(values.items())
        ]
        next_stamp = select(func.coalesce(func.max(_STAMP), 0) + 1).scalar_subquery()

        def write() -> None:
            with self._engine.begin() as connection:
                insert = dialect_insert(connection, RESPONSE_CACHE).values(stamp=next_stamp)
                new = {name: insert.excluded[name] for name in ("value", "stamp", "subject")}
                connection.execute(
                    insert.on_conflict_do_update(index_elements=[_KEY], set_=new), rows
                )

        retry_contended(write)
        self._writes_before_count -= len(rows)
        if self._writes_before_count < 0:
            retry_contended(self._evict)

    def _evict(self) -> None:
        """Count the entries and drop the oldest if there are too many."""
        slack = self._max_entries // 10
        with self._engine.begin() as connection:
            count = connection.execute(
                select(func.count()).select_from(RESPONSE_CACHE)
            ).scalar_one()
        if count > self._max_entries:
            surplus = count - (self._max_entries - slack)
            oldest = select(_KEY).order_by(_STAMP, _KEY).limit(surplus)
            with self._engine.begin() as connection:
                connection.execute(delete(RESPONSE_CACHE).where(_KEY.in_(oldest)))
            count -= surplus
        self._writes_before_count = min(self._max_entries - count, slack)

    def _refresh(self, keys: Sequence[bytes]) -> None:
        """Make entries that were used and had grown old the newest, so that they stay.

        Leaving young entries alone saves a write for nearly every read.
        """
        newest = select(func.max(_STAMP) + 1).scalar_subquery()
        statement = (
            update(RESPONSE_CACHE)
            .where(RESPONSE_CACHE.c.key == bindparam("used"))
            .values(stamp=newest)
        )

        def write() -> None:
            with self._engine.begin() as connection:
                connection.execute(statement, [{"used": key} for key in sorted(keys)])

        retry_contended(write)


def _seal(key: bytes, value: bytes) -> bytes:
    """Put a checksum before the value, over the key too: a value under a wrong key is damage."""
    return crc32(value, crc32(key)).to_bytes(CHECKSUM_BYTES, "little") + value


class _Model(Protocol):
    @property
    def model_id(self) -> str: ...


class _Generator(_Model, Protocol):
    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]: ...


class _RelationScorer(_Model, Protocol):
    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray: ...


class _Embedder(_Model, Protocol):
    def embed(self, texts: Sequence[str]) -> FloatArray: ...


class _TokenScorer(_Model, Protocol):
    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]: ...

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]: ...


class _WriteThrough(ABC, Generic[ModelT, RequestT, AnswerT]):
    """A model whose answers are looked up before it is asked and stored before they are used.

    `hits` counts requests that did not reach the model (found, or repeated within the batch),
    `calls` those that did, including a chunk that failed.
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
        prefix = _digest(self.kind, self.model_id)
        keys = [sha256(prefix + self._request_digest(request)).digest() for request in requests]
        stored = self._cache.get(keys)
        missing = {key: r for key, r in zip(keys, requests, strict=True) if key not in stored}
        self.hits += len(requests) - len(missing)
        failed: dict[bytes, ModelError] = {}
        for part in self._parts(missing):
            encoded = {}
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


class CachedGenerator(_WriteThrough[_Generator, Prompt, Completion]):
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


class CachedRelations(_WriteThrough[_RelationScorer, AnswerPair, FloatArray]):
    """A relation scorer that remembers."""

    kind = "relation/1"

    def __init__(self, model: _RelationScorer, cache: ResponseCache, *, chunk: int = 1024) -> None:
        super().__init__(model, cache, chunk=chunk)

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows: entailment, neutral, contradiction. Raises ModelError."""
        rows = self._answers(pairs)
        return np.stack(rows) if rows else np.empty((0, 3))

    def _request_digest(self, request: AnswerPair) -> bytes:
        return _digest(request.question, request.premise, request.hypothesis)

    def _subject(self, request: AnswerPair) -> bytes:
        return question_subject(request.question)

    def _ask(self, requests: Sequence[AnswerPair]) -> Sequence[FloatArray]:
        rows = _checked_rows(self._model.probabilities(requests), self.model_id)
        if rows.shape[1] != 3 or (rows < 0.0).any() or (rows > 1.0).any():
            raise ModelError(f"{self.model_id} did not return rows of three probabilities")
        return list(rows)

    def _encode(self, answer: FloatArray) -> bytes:
        return answer.astype("<f8").tobytes()

    def _decode(self, value: bytes) -> FloatArray:
        return np.frombuffer(value, "<f8").astype(np.float64)


class CachedEmbedder(_WriteThrough[_Embedder, str, FloatArray]):
    """An embedder that remembers, in single precision: rows keep unit length to about 1e-7."""

    kind = "embedding/1"

    def __init__(self, model: _Embedder, cache: ResponseCache, *, chunk: int = 256) -> None:
        super().__init__(model, cache, chunk=chunk)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit length, float64. Raises ModelError."""
        if not texts:
            return self._model.embed(texts)  # only the model knows d
        return np.stack(self._answers(texts))

    def _request_digest(self, request: str) -> bytes:
        return _digest(request)

    def _subject(self, request: str) -> bytes:  # noqa: ARG002 all texts alike
        return EMBEDDINGS

    def _ask(self, requests: Sequence[str]) -> Sequence[FloatArray]:
        return list(_checked_rows(self._model.embed(requests), self.model_id))

    def _encode(self, answer: FloatArray) -> bytes:
        return answer.astype("<f4").tobytes()

    def _decode(self, value: bytes) -> FloatArray:
        return np.frombuffer(value, "<f4").astype(np.float64)


_Row = tuple[Prompt, str]  # with the continuation


class CachedTokens(_WriteThrough[_TokenScorer, _Row, FloatArray]):
    """A token scorer that remembers how probable continuations were, prompt by prompt.

    Whole distributions of next tokens are a megabyte each, and are passed on only.
    """

    kind = "log-probs/1"

    def __init__(self, model: _TokenScorer, cache: ResponseCache, *, chunk: int = 32) -> None:
        super().__init__(model, cache, chunk=chunk)

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query, in order. Raises ModelError."""
        return self._model.next_tokens(queries)

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r, t) natural logarithms. Raises ModelError."""
        rows = iter(self._answers([(p, q.continuation) for q in queries for p in q.prompts]))
        return [
            np.stack([next(rows) for _ in query.prompts]) if query.prompts else np.empty((0, 1))
            for query in queries
        ]

    def _request_digest(self, request: _Row) -> bytes:
        return request[0].digest() + _digest(request[1])

    def _subject(self, request: _Row) -> bytes:
        return question_subject(request[0].question)

    def _ask(self, requests: Sequence[_Row]) -> Sequence[FloatArray]:
        """Ask for the prompts of a continuation together: they share their beginning."""
        places: dict[str, list[int]] = {}
        for index, (_, continuation) in enumerate(requests):
            places.setdefault(continuation, []).append(index)
        queries = [
            ContinuationQuery(tuple(requests[i][0] for i in indices), continuation)
            for continuation, indices in places.items()
        ]
        found: dict[int, FloatArray] = {}
        for rows, indices in zip(self._model.log_probs(queries), places.values(), strict=True):
            if rows.ndim != 2 or len(rows) != len(indices) or np.isnan(rows).any():
                raise ModelError(f"{self.model_id} did not return a row of numbers per prompt")
            found |= dict(zip(indices, rows, strict=True))
        return [found[index] for index in range(len(requests))]

    def _encode(self, answer: FloatArray) -> bytes:
        return answer.astype("<f8").tobytes()

    def _decode(self, value: bytes) -> FloatArray:
        return np.frombuffer(value, "<f8").astype(np.float64)


def _checked_rows(rows: FloatArray, model_id: str) -> FloatArray:
    """Refuse to store what is not a matrix of finite numbers."""
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ModelError(f"{model_id} did not return a matrix of finite numbers")
    return rows


def _digest(*texts: str) -> bytes:
    """32 bytes that differ whenever any of the texts differs."""
    digest = sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()
