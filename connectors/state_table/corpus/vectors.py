"""The vectors of the corpus, and the counters by which readers notice changes.

A reader keeps vectors in memory and reads new ones by `changes`. Vectors get their `seq` while
their writer has the lock on the counters, so that they become visible in that order, which a
sequence of PostgreSQL does not guarantee. Deletions are counted: if the count changes, a reader
compares its numbers with those that are left.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, delete, exists, insert, select, update

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    CORPUS_STATE,
    CORPUS_TEXTS,
    CORPUS_VECTORS,
    dialect_insert,
)
from radarstream.schemas.errors import ConfigurationError

_STATE, _TEXTS, _VECTORS = CORPUS_STATE.c, CORPUS_TEXTS.c, CORPUS_VECTORS.c
_NAME: Final = "corpus"
ROWS_AT_ONCE: Final = 1_000


class Counters(NamedTuple):
    """`seq` grows with additions, `deletions` with deletions; `model` made the vectors."""

    seq: int
    deletions: int
    model: str | None


class StoredVector(NamedTuple):
    """A vector and its place in the order of commits."""

    seq: int
    text_id: str
    vector: bytes


class Changes(NamedTuple):
    """Changes for a reader: new vectors, and after a deletion the numbers of those left."""

    counters: Counters
    new: list[StoredVector]
    left: frozenset[int] | None


def locked(connection: Connection, *, new: int = 0) -> Counters:
    """Lock the corpus until the transaction ends, and reserve `new` sequence numbers."""
    statement = (
        dialect_insert(connection.dialect.name, CORPUS_STATE)
        .values(name=_NAME, seq=new, deletions=0)
        .on_conflict_do_update(index_elements=[_STATE.name], set_={"seq": _STATE.seq + new})
        .returning(_STATE.seq, _STATE.deletions, _STATE.model)
    )
    return Counters(*connection.execute(statement).one())


def count_deletion(connection: Connection) -> None:
    """Count a deletion, for readers; the corpus is locked."""
    connection.execute(update(CORPUS_STATE).values(deletions=_STATE.deletions + 1))


def counters(connection: Connection) -> Counters:
    """Return the counters."""
    row = connection.execute(select(_STATE.seq, _STATE.deletions, _STATE.model)).one_or_none()
    return Counters(*row) if row else Counters(0, 0, None)


def pending_ids(engine: Engine, limit: int | None = None) -> list[str]:
    """Return the ids of texts without a vector, the last seen first."""
    embedded = exists().where(_VECTORS.text_id == _TEXTS.id)
    pending = select(_TEXTS.id).where(~embedded).order_by(_TEXTS.last_seen_ms.desc(), _TEXTS.id)
    return [id_ for (id_,) in db.fetch(engine, pending.limit(limit))]


def store(engine: Engine, model: str, vectors: Mapping[str, bytes]) -> int:
    """Store vectors by text id, in one transaction; return how many were new.

    Skips texts that were deleted or embedded by others meanwhile. Raises ConfigurationError if the
    corpus has vectors of another model.
    """

    def work(connection: Connection) -> int:
        state = locked(connection, new=len(vectors))
        if state.model is None:
            connection.execute(update(CORPUS_STATE).values(model=model))
        elif state.model != model:
            raise other_model(state.model, model)
        embedded = exists().where(_VECTORS.text_id == _TEXTS.id)
        wanted = select(_TEXTS.id).where(_TEXTS.id.in_(list(vectors)), ~embedded)
        ids = sorted(connection.execute(wanted).scalars())
        first = state.seq - len(vectors) + 1
        numbered = enumerate(ids, first)
        rows = [{"seq": seq, "text_id": id_, "vector": vectors[id_]} for seq, id_ in numbered]
        if rows:
            connection.execute(insert(CORPUS_VECTORS), rows)
        return len(rows)

    return db.in_transaction(engine, work) if vectors else 0


def drop_vectors(engine: Engine, model: str) -> int:
    """Delete the vectors of other models than `model`; return how many."""

    def work(connection: Connection) -> int:
        if locked(connection).model in (None, model):
            return 0
        connection.execute(update(CORPUS_STATE).values(model=model))
        count_deletion(connection)
        return connection.execute(delete(CORPUS_VECTORS)).rowcount

    return db.in_transaction(engine, work)


def other_model(stored: str, model: str) -> ConfigurationError:
    """Return the error for vectors of another model."""
    return ConfigurationError(
        f"the corpus was embedded by {stored}, not by {model}: `radarstream corpus embed "
        "--rebuild` embeds it again"
    )


def changes(engine: Engine, known: Counters) -> Changes:
    """Return the changes since `known`, as of one moment; all vectors if the model changed."""
    with db.one_moment(engine) as connection:
        now = counters(connection)
        since = known.seq if now.model == known.model else -1
        statement = select(*CORPUS_VECTORS.columns).where(_VECTORS.seq > since)
        stream = connection.execution_options(yield_per=ROWS_AT_ONCE).execute(
            statement.order_by(_VECTORS.seq)
        )
        new = [StoredVector(*row) for row in stream]
        left = None
        if now.deletions != known.deletions:
            left = frozenset(connection.execute(select(_VECTORS.seq)).scalars())
        return Changes(now, new, left)
