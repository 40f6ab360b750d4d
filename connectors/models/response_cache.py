"""Keeps the answers of models in the state database, so that a repeated request costs no call.

Answers are stored at once, singly or in chunks, each in its own transaction: a crash repeats only
calls in flight. `Cached` always decodes the stored bytes, so that cached and new answers are
exactly equal.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from time import perf_counter
from typing import Any, Final

import numpy as np
from sqlalchemy import Engine, Insert, bindparam, delete, func, select

from radarstream.connectors.models.batching import AnswersEach
from radarstream.connectors.models.wrapping import Call, Method, Replies, Wrapped
from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import RESPONSE_CACHE, dialect_insert
from radarstream.connectors.state_table.queries.subject import (
    EMBEDDINGS,
    owner_of,
    question_subject,
)
from radarstream.connectors.traces import traces
from radarstream.schemas.arrays import embedding_rows, relation_rows
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Completion

KEY_BYTES = 32
_OWNER: Final[ContextVar[bytes]] = ContextVar("owner", default=b"")
_KEY, _VALUE, _STAMP = RESPONSE_CACHE.c.key, RESPONSE_CACHE.c.value, RESPONSE_CACHE.c.stamp
_VALUES: Final = select(_KEY, _VALUE).where(_KEY.in_(bindparam("keys", expanding=True)))


@cache
def _storing(dialect: str) -> Insert:
    next_stamp = select(func.coalesce(func.max(_STAMP), 0) + 1).scalar_subquery()
    insert = dialect_insert(dialect, RESPONSE_CACHE).values(stamp=next_stamp)
    new = {name: insert.excluded[name] for name in ("value", "stamp", "subject")}
    return insert.on_conflict_do_update(index_elements=[_KEY], set_=new)


class ResponseCache:
    """A bounded store of byte strings with 32-byte keys, which processes share by the database.

    It keeps at most `max_entries`, and deletes the oldest tenth if it is full. Each process counts
    again after a tenth of the writes, so that several may exceed the limit by as much.
    """

    def __init__(self, engine: Engine, *, max_entries: int = 1_000_000) -> None:
        if max_entries < 1:
            raise ValueError(f"max_entries must be positive, got {max_entries}")
        self._engine = engine
        self._max_entries = max_entries
        self._writes_before_count = 0

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values of the known keys."""
        values: dict[bytes, bytes] = {}
        with self._engine.connect() as connection:
            for chunk in db.chunks(dict.fromkeys(keys)):
                rows = connection.execute(_VALUES, {"keys": chunk})
                values |= {key: bytes(value) for key, value in rows}
        return values

    def put(self, values: Mapping[bytes, bytes], subjects: Mapping[bytes, bytes]) -> None:
        """Write all values in one transaction, replacing earlier ones.

        `subjects` has the subject of each value by key, for `state_table.forgetting`.
        """
        if not values:
            return
        # Sorted by key, so that two writers of the same keys cannot deadlock.
        rows = [
            {"key": key, "value": value, "subject": subjects[key]}
            for key, value in sorted(values.items())
        ]

        db.in_transaction(
            self._engine,
            lambda connection: connection.execute(_storing(connection.dialect.name), rows),
        )
        self._writes_before_count -= len(rows)
        if self._writes_before_count < 0:
            self._evict()

    def _evict(self) -> None:
        """Count the entries and delete the oldest if there are too many."""
        slack = self._max_entries // 10
        count = int(db.fetch_value(self._engine, select(func.count()).select_from(RESPONSE_CACHE)))
        if count > self._max_entries:
            surplus = count - (self._max_entries - slack)
            oldest = select(_KEY).order_by(_STAMP, _KEY).limit(surplus)
            db.write(self._engine, delete(RESPONSE_CACHE).where(_KEY.in_(oldest)))
            count -= surplus
        self._writes_before_count = min(self._max_entries - count, slack)


@dataclass(frozen=True, slots=True)
class Coding:
    """How replies are encoded as bytes, and decoded."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def numbers(row_type: str) -> Coding:
    """Return the coding of vectors as a numpy type; they are decoded as float64."""
    return Coding(
        lambda reply: bytes(np.asarray(reply).astype(row_type).tobytes()),
        lambda value: np.frombuffer(value, row_type).astype(np.float64),
    )


COMPLETIONS: Final = Coding(
    lambda reply: json.dumps(asdict(reply), separators=(",", ":")).encode("ascii"),
    lambda value: Completion(**json.loads(value)),
)
ROWS: Final = Coding(  # the number of rows, then the rows
    lambda rows: len(rows).to_bytes(4, "little") + rows.astype("<f8").tobytes(),
    lambda value: (
        np.frombuffer(value[4:], "<f8").reshape(int.from_bytes(value[:4], "little"), -1)
        if len(value) > 4
        else np.empty((0, 1))
    ),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """The entries of one method.

    `name` is part of the key; its number changes with the encoding. `chunk` requests are asked and
    stored at a time. `subject` returns the subject of an entry, for `state_table.forgetting`.
    `check` raises ValueError for replies that must not be stored.
    """

    name: str
    chunk: int
    digest: Callable[[Any], bytes]
    subject: Callable[[Any], bytes]
    coding: Coding = COMPLETIONS
    check: Callable[[Any, int], Replies] = lambda replies, _: replies


def digest_of(*texts: str) -> bytes:
    """Return a 32-byte hash of all texts."""
    digest = sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.digest()


def all_numbers(replies: Sequence[FloatArray], _: int) -> Sequence[FloatArray]:
    """Return the replies. Raises ValueError if one has NaN."""
    if any(np.isnan(rows).any() for rows in replies):
        raise ValueError("a reply has a value that is not a number")
    return replies


ENTRIES: Final[Mapping[str, Entry]] = {
    Method.COMPLETE: Entry(
        "completion/1",
        32,
        lambda prompt: prompt.digest(),
        lambda prompt: question_subject(prompt.question),
    ),
    Method.PROBABILITIES: Entry(
        "relation/1",
        1024,
        lambda pair: digest_of(pair.question, pair.premise, pair.hypothesis),
        lambda pair: question_subject(pair.question),
        numbers("<f8"),
        relation_rows,
    ),
    # Single precision: rows keep unit length to about 1e-7.
    Method.EMBED: Entry(
        "embedding/1", 256, digest_of, lambda _: EMBEDDINGS, numbers("<f4"), embedding_rows
    ),
    Method.LOG_PROBS: Entry(
        "log-probs/2",
        32,
        lambda query: b"".join(p.digest() for p in query.prompts) + digest_of(query.continuation),
        lambda query: question_subject(query.prompts[0].question if query.prompts else ""),
        ROWS,
        all_numbers,
    ),
}


@contextmanager
def kept_for(user: str) -> Iterator[None]:
    """Restrict every `Cached` in the block to entries of a user; "" means shared entries.

    Otherwise a fast reply would reveal what another user asked about own documents.
    """
    token = _OWNER.set(owner_of(user) if user else b"")
    try:
        yield
    finally:
        _OWNER.reset(token)


class Cached(Wrapped):
    """A model whose replies are kept in a `ResponseCache`; `entries` has the coding by method.

    Each completion of an `AnswersEach` is stored at once; other models are asked, and their replies
    stored, `chunk` requests at a time (None: the entry's number). `hits` counts requests that did
    not reach the model (cached, or repeated in the batch), `calls` those that did, also failed
    ones.
    """

    def __init__(
        self,
        model: Any,
        cache: ResponseCache,
        *,
        chunk: int | None = None,
        entries: Mapping[str, Entry] = ENTRIES,
    ) -> None:
        if chunk is not None and chunk < 1:
            raise ValueError(f"chunk must be positive, got {chunk}")
        super().__init__(model, self._stored)
        self._cache = cache
        self._chunk = chunk
        self._entries = entries
        self.hits = 0
        self.calls = 0

    def _stored(self, call: Call) -> list[Any]:
        """Return one reply per request, in order; replies before a failure stay stored."""
        entry = self._entries[call.method]
        owner, prefix = _OWNER.get(), digest_of(entry.name, self.model_id)
        key_of = {
            r: (owner + sha256(prefix + entry.digest(r)).digest())[:KEY_BYTES]
            for r in dict.fromkeys(call.requests)
        }
        keys = [key_of[request] for request in call.requests]
        stored = self._cache.get(keys)
        missing = {k: r for k, r in zip(keys, call.requests, strict=True) if k not in stored}
        names = list(missing)
        self.hits += len(keys) - len(missing)
        failed: dict[bytes, ModelError] = {}
        for part in self._parts(replace(call, requests=list(missing.values()))):
            encoded = {}
            for index, reply in part:
                if isinstance(reply, ModelError):
                    failed[names[index]] = reply
                else:
                    encoded[names[index]] = entry.coding.encode(reply)
            self._cache.put(encoded, {key: entry.subject(missing[key]) for key in encoded})
            stored |= encoded
        replies = {
            key: failed.get(key) or entry.coding.decode(stored[key]) for key in dict.fromkeys(keys)
        }
        return [replies[key] for key in keys]

    def _parts(self, call: Call) -> Iterator[Sequence[tuple[int, Any]]]:
        """Ask for all requests; yield parts of the replies, each with the index of its request."""
        if call.method == Method.COMPLETE and isinstance(call.model, AnswersEach):
            yield from self._each(call.model, call.requests)
            return
        entry, started = self._entries[call.method], 0
        while chunk := call.requests[started : started + (self._chunk or entry.chunk)]:
            self.calls += len(chunk)
            asked, answered = perf_counter(), traces().calls(call.model, call.method)
            try:
                replies = call.ask(chunk)
            except ModelError as error:
                answered(chunk, [error] * len(chunk))
                raise
            answered(chunk, replies)
            try:
                replies = entry.check(replies, len(replies))
            except ValueError as error:
                raise ModelError(f"{self.model_id}: {error}") from error
            share = (perf_counter() - asked) / len(chunk)
            yield [(started + i, timed(reply, share)) for i, reply in enumerate(replies)]
            started += len(chunk)

    def _each(
        self, model: AnswersEach, prompts: Sequence[Any]
    ) -> Iterator[Sequence[tuple[int, Any]]]:
        """Yield one completion at a time. Raises ModelError if a prompt has no outcome."""
        left = set(range(len(prompts)))
        self.calls += len(prompts)
        asked, answered = perf_counter(), traces().calls(model, Method.COMPLETE)
        try:
            for index, outcome in model.complete_each(prompts):
                left.discard(index)
                answered([prompts[index]], [outcome])
                yield [(index, timed(outcome, perf_counter() - asked))]
                asked = perf_counter()
        except ModelError as error:
            answered([prompts[index] for index in left], [error] * len(left))
            raise
        if left:
            unanswered = f"{len(left)} of {len(prompts)} prompts unanswered"
            raise ModelError(f"{self.model_id} left {unanswered}")


def timed(reply: Any, seconds: float) -> Any:
    """Set the seconds of a reply if it is a completion."""
    return replace(reply, seconds=seconds) if isinstance(reply, Completion) else reply
