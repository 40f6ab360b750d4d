"""Reads the corpus: texts by id, the newest texts, counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Select, func, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    CORPUS_QUERIES,
    CORPUS_STATE,
    CORPUS_TEXTS,
    CORPUS_VECTORS,
)
from radarstream.schemas.snapshot import Document
from radarstream.schemas.times import time_at

_TEXTS, _QUERIES, _VECTORS = CORPUS_TEXTS.c, CORPUS_QUERIES.c, CORPUS_VECTORS.c


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text of the corpus; `queries` are the last that found it, at most 16, sorted.

    The document's rank has no meaning. An `own` text was added by a user; neither time nor a
    forgotten query deletes it; `name` is the user's id for it.
    """

    id: str
    document: Document
    first_seen_ms: int
    last_seen_ms: int
    own: bool
    name: str | None = None
    queries: tuple[str, ...] = ()


class Statistics(NamedTuple):
    """Counts of the corpus. Searches find `embedded` texts; `unusable` ones cannot be embedded."""

    texts: int
    own: int
    embedded: int
    unusable: int
    queries: int
    first_seen_ms: int | None
    last_seen_ms: int | None
    model: str | None


def read(engine: Engine, ids: Sequence[str]) -> dict[str, StoredText]:
    """Return the texts with these ids, without unknown ids."""
    found: dict[str, StoredText] = {}
    with engine.connect() as connection:
        for chunk in db.chunks(ids):
            statement = select(CORPUS_TEXTS).where(_TEXTS.id.in_(chunk))
            found |= {text.id: text for text in _stored(connection, statement)}
    return found


def newest(engine: Engine, limit: int) -> list[StoredText]:
    """Return the texts seen last, newest first."""
    statement = select(CORPUS_TEXTS).order_by(_TEXTS.last_seen_ms.desc(), _TEXTS.id).limit(limit)
    with engine.connect() as connection:
        return _stored(connection, statement)


def statistics(engine: Engine) -> Statistics:
    """Count texts, vectors and queries."""

    def count(*conditions: ColumnElement[bool]) -> Any:
        return select(func.count()).where(*conditions).scalar_subquery()

    usable = func.length(_VECTORS.vector) > 0
    statement = select(
        select(func.count()).select_from(CORPUS_TEXTS).scalar_subquery(),
        count(_TEXTS.own),
        count(usable),
        count(~usable),
        select(func.count(_QUERIES.query_id.distinct())).scalar_subquery(),
        select(func.min(_TEXTS.first_seen_ms)).scalar_subquery(),
        select(func.max(_TEXTS.last_seen_ms)).scalar_subquery(),
        select(CORPUS_STATE.c.model).scalar_subquery(),
    )
    return Statistics(*db.fetch(engine, statement)[0])


def _stored(connection: Connection, statement: Select[Any]) -> list[StoredText]:
    rows = connection.execute(statement).all()
    queries: dict[str, list[str]] = {row.id: [] for row in rows}
    for chunk in db.chunks(queries):
        pairs = select(_QUERIES.text_id, _QUERIES.query_id).where(_QUERIES.text_id.in_(chunk))
        for text_id, query_id in connection.execute(pairs):
            queries[text_id].append(query_id)
    return [
        StoredText(
            row.id,
            document_of(row.text, row.title, row.url, row.published_ms),
            row.first_seen_ms,
            row.last_seen_ms,
            row.own,
            row.name,
            tuple(sorted(queries[row.id])),
        )
        for row in rows
    ]


def document_of(text: bytes, title: bytes, url: bytes, published_ms: int | None) -> Document:
    """Read a document from its columns, with rank 1.

    Raises UnicodeDecodeError and OverflowError for damaged values.
    """
    said, head, address = (part.decode("utf-8", "surrogatepass") for part in (text, title, url))
    published = time_at(published_ms) if published_ms is not None else None
    return Document(1, said, head, address, published)
