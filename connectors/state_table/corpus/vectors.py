"""The vectors of the corpus, and the counters by which readers see what changed.

A reader keeps vectors in memory and asks with `changes` for what is new. Vectors get their `seq`
while their writer holds the lock on the counters, so they become visible in that order, on
PostgreSQL too, where a plain sequence would not promise it. A deletion is only counted: a reader
that sees the count move compares its own numbers with those that are left.
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
    """`seq` grows with every addition, `deletions` with every deletion; `model` embeds."""

    seq: int
    deletions: int
    model: str | None


class StoredVector(NamedTuple):
    """A vector and its place in the order of commits."""

    seq: int
    text_id: str
    vector: bytes


class Changes(NamedTuple):
    """What a reader has missed: new vectors, and those that are left when something was deleted."""

    counters: Counters
    new: list[StoredVector]
    left: frozenset[int] | None


def locked(connection: Connection, *, new: int = 0) -> Counters:
    """Take the lock on the corpus until the transaction ends, and `new` numbers of its order."""
    statement = (
        dialect_insert(connection.dialect.name, CORPUS_STATE)
        .values(name=_NAME, seq=new, deletions=0)
        .on_conflict_do_update(index_elements=[_STATE.name], set_={"seq": _STATE.seq + new})
        .returning(_STATE.seq, _STATE.deletions, _STATE.model)
    )
    return Counters(*connection.execute(statement).one())


def count_deletion(connection: Connection) -> None:
    """Tell readers that something was deleted; the corpus is locked."""
    connection.execute(update(CORPUS_STATE).values(deletions=_STATE.deletions + 1))


def counters(connection: Connection) -> Counters:
    """Return the counters as they are."""
    row = connection.execute(select(_STATE.seq, _STATE.deletions, _STATE.model)).one_or_none()
    return Counters(*row) if row else Counters(0, 0, None)


def pending_ids(engine: Engine, limit: int | None = None) -> list[str]:
    """Return the texts that have no vector yet, those seen last first."""
    embedded = exists().where(_VECTORS.text_id == _TEXTS.id)
    pending = select(_TEXTS.id).where(~embedded).order_by(_TEXTS.last_seen_ms.desc(), _TEXTS.id)
    return [id_ for (id_,) in db.fetch(engine, pending.limit(limit))]


def store(engine: Engine, model: str, vectors: Mapping[str, bytes]) -> int:
    """Keep vectors by text id, in one transaction; return how many were new.

    Texts that are gone, or got their vector from somebody else meanwhile, are passed over. Raises
    ConfigurationError when the corpus has vectors of another model.
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
    """Delete the vectors of any other model, so that this one can embed anew; return how many."""

    def work(connection: Connection) -> int:
        if locked(connection).model in (None, model):
            return 0
        connection.execute(update(CORPUS_STATE).values(model=model))
        count_deletion(connection)
        return connection.execute(delete(CORPUS_VECTORS)).rowcount

    return db.in_transaction(engine, work)


def other_model(stored: str, model: str) -> ConfigurationError:
    """Say that the corpus speaks another model's language, and what to do."""
    return ConfigurationError(
        f"the corpus was embedded by {stored}, not by {model}: `radarstream corpus embed "
        "--rebuild` embeds it anew"
    )


def changes(engine: Engine, known: Counters) -> Changes:
    """Return what happened since a reader was at `known`, as of one moment.

    When the model has changed, `known` counts for nothing: the reader starts from empty.
    """
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
