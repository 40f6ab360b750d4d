"""Texts of the corpus: found by queries, or a user's own.

Each text is stored once, by the `content_id` of its document. Callers pass the times, milliseconds
of event time, and the transactions; one writer at a time has the lock (see `vectors.locked`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, func

from radarstream.connectors.state_table.corpus.vectors import count_deletion, locked
from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    CORPUS_QUERIES,
    CORPUS_TEXTS,
    CORPUS_VECTORS,
)
from radarstream.schemas.snapshot import Document
from radarstream.schemas.times import milliseconds

QUERIES_PER_TEXT: Final = 16
NamedDocument = tuple[str | None, Document]
_TEXTS, _QUERIES, _VECTORS = CORPUS_TEXTS.c, CORPUS_QUERIES.c, CORPUS_VECTORS.c


class Added(NamedTuple):
    """How many distinct texts of one addition were new, and how many were known."""

    new: int
    known: int


def add_found(
    connection: Connection, documents: Iterable[Document], query_id: str, seen_ms: int
) -> Added:
    """Add the documents that a query found; repeating it is harmless."""
    rows = _rows(((None, document) for document in documents), seen_ms, own=False)
    if not rows:
        return Added(0, 0)
    added = _upsert(connection, rows)
    _note_query(connection, list(rows), query_id, seen_ms)
    return added


def add_own(connection: Connection, documents: Iterable[NamedDocument], seen_ms: int) -> Added:
    """Add a user's (name, document) pairs.

    The old text of a known name is deleted. Of several documents with one name, the last counts.
    """
    pairs = list(documents)
    last = {name: place for place, (name, _) in enumerate(pairs)}
    wanted = [pair for place, pair in enumerate(pairs) if pair[0] is None or last[pair[0]] == place]
    rows = _rows(wanted, seen_ms, own=True)
    if not rows:
        return Added(0, 0)
    named = {row["name"]: id_ for id_, row in rows.items() if row["name"] is not None}
    locked(connection)
    for names in db.chunks(named):
        outdated = _TEXTS.id.not_in([named[name] for name in names])
        _delete(connection, _TEXTS.name.in_(names) & outdated)
        # Two texts may swap their names.
        freed = sa.update(CORPUS_TEXTS).where(_TEXTS.name.in_(names)).values(name=None)
        connection.execute(freed)
    return _upsert(connection, rows)


def remove(connection: Connection, ids: Iterable[str]) -> int:
    """Delete texts by id or by a user's name; return their number."""
    locked(connection)
    return sum(
        _delete(connection, _TEXTS.id.in_(chunk) | _TEXTS.name.in_(chunk))
        for chunk in db.chunks(dict.fromkeys(ids))
    )


def remove_url_prefix(connection: Connection, prefix: str) -> int:
    """Delete texts whose address begins with `prefix`, also a user's own; return how many."""
    locked(connection)
    return _delete(connection, address_begins(prefix))


def prune(connection: Connection, before_ms: int) -> int:
    """Delete found texts that were last seen before `before_ms`; return how many."""
    locked(connection)
    return _delete(connection, ~_TEXTS.own & (_TEXTS.last_seen_ms < before_ms))


def shrink(connection: Connection, most: int, *, down_to: int | None = None) -> int:
    """If there are more than `most` found texts, delete the oldest down to `down_to`, or `most`.

    Returns how many found texts are left.
    """
    locked(connection)
    count = count_found(connection)
    if count <= most:
        return count
    oldest = sa.select(_TEXTS.id).where(~_TEXTS.own).order_by(_TEXTS.last_seen_ms, _TEXTS.id)
    surplus = oldest.limit(count - (most if down_to is None else down_to))
    return count - _delete(connection, _TEXTS.id.in_(surplus))


def count_found(connection: Connection) -> int:
    """Count found texts, which no user added."""
    found = sa.select(func.count()).select_from(CORPUS_TEXTS).where(~_TEXTS.own)
    return connection.execute(found).scalar_one()


def forget_query(connection: Connection, query_id: str) -> int:
    """Delete the texts that only this query found; return how many. Other texts lose its id."""
    locked(connection)
    deleted = _delete(connection, _found_alone(query_id))
    connection.execute(sa.delete(CORPUS_QUERIES).where(_QUERIES.query_id == query_id))
    return deleted


def _found_alone(query_id: str) -> ColumnElement[bool]:
    """Whether only this query found a text, and no user added it."""
    mine = sa.select(_QUERIES.text_id).where(_QUERIES.query_id == query_id)
    others = sa.exists().where(_QUERIES.text_id == _TEXTS.id, _QUERIES.query_id != query_id)
    return sa.and_(_TEXTS.id.in_(mine), ~_TEXTS.own, ~others)


def _rows(
    documents: Iterable[NamedDocument], seen_ms: int, *, own: bool
) -> dict[str, dict[str, Any]]:
    seen = {"own": own, "first_seen_ms": seen_ms, "last_seen_ms": seen_ms}
    rows = {
        document.content_id: {
            "id": document.content_id,
            "name": name,
            "published_ms": milliseconds(at) if (at := document.published_at) else None,
            "url": _bytes(document.url),
            "title": _bytes(document.title),
            "text": _bytes(document.text),
            **seen,
        }
        for name, document in documents
        if document.passage.strip()
    }
    return dict(sorted(rows.items()))  # by id


def _upsert(connection: Connection, rows: Mapping[str, Mapping[str, Any]]) -> Added:
    """Insert the rows; for known texts, extend the times and keep names and `own`."""
    known = 0
    locked(connection, new=1)
    for chunk in db.chunks(rows):
        there = sa.select(func.count()).select_from(CORPUS_TEXTS).where(_TEXTS.id.in_(chunk))
        known += connection.execute(there).scalar_one()
    new = db.excluded(CORPUS_TEXTS)
    earlier = new.first_seen_ms < _TEXTS.first_seen_ms
    later = new.last_seen_ms > _TEXTS.last_seen_ms
    changed = {
        "name": func.coalesce(new.name, _TEXTS.name),
        "own": _TEXTS.own | new.own,
        "first_seen_ms": sa.case((earlier, new.first_seen_ms), else_=_TEXTS.first_seen_ms),
        "last_seen_ms": sa.case((later, new.last_seen_ms), else_=_TEXTS.last_seen_ms),
        "published_ms": func.coalesce(_TEXTS.published_ms, new.published_ms),
    }
    db.upsert(connection, CORPUS_TEXTS, list(rows.values()), changed=changed)
    return Added(len(rows) - known, known)


def _note_query(connection: Connection, ids: Sequence[str], query_id: str, seen_ms: int) -> None:
    """Note that the query found the texts; keep the last 16 queries of each."""
    new = db.excluded(CORPUS_QUERIES).last_seen_ms
    later = sa.case((new > _QUERIES.last_seen_ms, new), else_=_QUERIES.last_seen_ms)
    rows = [{"text_id": id_, "query_id": query_id, "last_seen_ms": seen_ms} for id_ in ids]
    db.upsert(connection, CORPUS_QUERIES, rows, changed={"last_seen_ms": later})
    pair = (_QUERIES.text_id, _QUERIES.query_id)
    latest_first = (_QUERIES.last_seen_ms.desc(), _QUERIES.query_id)
    place = func.row_number().over(partition_by=_QUERIES.text_id, order_by=latest_first)
    for chunk in db.chunks(ids):
        ranked = sa.select(*pair, place.label("place")).where(_QUERIES.text_id.in_(chunk))
        found = ranked.subquery().c
        surplus = sa.select(found.text_id, found.query_id).where(found.place > QUERIES_PER_TEXT)
        connection.execute(sa.delete(CORPUS_QUERIES).where(sa.tuple_(*pair).in_(surplus)))


def address_begins(prefix: str) -> ColumnElement[bool]:
    """Whether a text's address begins with `prefix`."""
    start = _bytes(prefix)
    return func.substr(_TEXTS.url, 1, len(start)) == start


def _delete(connection: Connection, condition: ColumnElement[bool]) -> int:
    """Delete texts with their vectors and queries; the corpus is locked."""
    statement = sa.delete(CORPUS_TEXTS).where(condition).returning(_TEXTS.id)
    deleted = connection.execute(statement).scalars().all()
    for chunk in db.chunks(deleted):
        connection.execute(sa.delete(CORPUS_VECTORS).where(_VECTORS.text_id.in_(chunk)))
        connection.execute(sa.delete(CORPUS_QUERIES).where(_QUERIES.text_id.in_(chunk)))
    if deleted:
        count_deletion(connection)
    return len(deleted)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
