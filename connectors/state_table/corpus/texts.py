"""Documents that questions can be answered from: found by queries, or a user's own.

A text is kept once, under the `content_id` of its document, whoever finds it and how often. Times
are milliseconds of event time and come from the caller, as does the transaction of whatever
writes; writers go one after another (see `corpus_vectors.locked`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    case,
    delete,
    exists,
    func,
    not_,
    select,
    update,
)

from radarstream.connectors.state_table.corpus.vectors import count_deletion, locked
from radarstream.connectors.state_table.database.tables import (
    CORPUS_QUERIES,
    CORPUS_TEXTS,
    CORPUS_VECTORS,
    dialect_insert,
)
from radarstream.schemas.snapshot import Document
from radarstream.schemas.times import milliseconds

QUERIES_PER_TEXT: Final = 16
IDS_PER_STATEMENT: Final = 500
_TEXTS, _QUERIES, _VECTORS = CORPUS_TEXTS.c, CORPUS_QUERIES.c, CORPUS_VECTORS.c


class Added(NamedTuple):
    """Distinct texts of one addition: how many were new, how many were there before."""

    new: int
    known: int


def add_found(
    connection: Connection, documents: Iterable[Document], query_id: str, seen_ms: int
) -> Added:
    """Keep what a query found at one moment; again is the same as once."""
    rows = _rows(((None, document) for document in documents), seen_ms, own=False)
    if not rows:
        return Added(0, 0)
    added = _upsert(connection, rows)
    _note_query(connection, list(rows), query_id, seen_ms)
    return added


def add_own(
    connection: Connection, documents: Iterable[tuple[str | None, Document]], seen_ms: int
) -> Added:
    """Keep a user's (name, document) pairs for good.

    A name that the corpus knows leaves its old text for the new one: the old one is deleted.
    """
    rows = _rows(_last_of_each_name(documents), seen_ms, own=True)
    if not rows:
        return Added(0, 0)
    named = {row["name"]: id_ for id_, row in rows.items() if row["name"] is not None}
    locked(connection)
    for chunk in chunks(named):
        outdated = _TEXTS.name.in_(chunk) & _TEXTS.id.not_in([named[name] for name in chunk])
        _delete(connection, outdated)
        # Two texts may swap their names.
        freed = update(CORPUS_TEXTS).where(_TEXTS.name.in_(chunk)).values(name=None)
        connection.execute(freed)
    return _upsert(connection, rows)


def remove(connection: Connection, ids: Iterable[str]) -> int:
    """Delete texts by id or by a user's name; return how many there were."""
    locked(connection)
    return sum(
        _delete(connection, _TEXTS.id.in_(chunk) | _TEXTS.name.in_(chunk))
        for chunk in chunks(dict.fromkeys(ids))
    )


def remove_url_prefix(connection: Connection, prefix: str) -> int:
    """Delete the texts whose address begins so, the user's own too; return how many."""
    locked(connection)
    return _delete(connection, address_begins(prefix))


def prune(connection: Connection, before_ms: int) -> int:
    """Delete what was found but not seen again since; the user's own texts stay."""
    locked(connection)
    return _delete(connection, not_(_TEXTS.own) & (_TEXTS.last_seen_ms < before_ms))


def shrink(connection: Connection, most: int, *, down_to: int | None = None) -> int:
    """Where more than `most` found texts are there, delete those seen longest ago.

    Leaves `down_to` of them, or `most`. Returns how many found texts are there afterwards.
    """
    locked(connection)
    found = select(func.count()).select_from(CORPUS_TEXTS).where(not_(_TEXTS.own))
    count = connection.execute(found).scalar_one()
    if count <= most:
        return count
    oldest = (
        select(_TEXTS.id)
        .where(not_(_TEXTS.own))
        .order_by(_TEXTS.last_seen_ms, _TEXTS.id)
        .limit(count - (most if down_to is None else down_to))
    )
    return count - _delete(connection, _TEXTS.id.in_(oldest))


def forget_query(connection: Connection, query_id: str) -> int:
    """Delete what was found for this query alone; return how many.

    Texts that other queries found, or a user added, lose the query's name only.
    """
    locked(connection)
    deleted = _delete(connection, _found_alone(query_id))
    connection.execute(delete(CORPUS_QUERIES).where(_QUERIES.query_id == query_id))
    return deleted


def not_found_by_others(
    connection: Connection, query_id: str, ids: Iterable[str]
) -> frozenset[str]:
    """Return those of a query's texts that the corpus has for nobody else.

    That is all it has for this query alone, and what of `ids` it does not have.
    """
    own = set(connection.execute(select(_TEXTS.id).where(_found_alone(query_id))).scalars())
    for chunk in chunks(ids):
        there = select(_TEXTS.id).where(_TEXTS.id.in_(chunk))
        own |= {*chunk} - set(connection.execute(there).scalars())
    return frozenset(own)


def _found_alone(query_id: str) -> ColumnElement[bool]:
    """Whether a text was found for this query and no other, and no user added it."""
    mine = select(_QUERIES.text_id).where(_QUERIES.query_id == query_id)
    others = exists().where(_QUERIES.text_id == _TEXTS.id, _QUERIES.query_id != query_id)
    return and_(_TEXTS.id.in_(mine), not_(_TEXTS.own), not_(others))


def _rows(
    documents: Iterable[tuple[str | None, Document]], seen_ms: int, *, own: bool
) -> dict[str, dict[str, Any]]:
    """Rows by id, sorted; documents without a visible character say nothing and are left out."""
    rows = {}
    for name, document in documents:
        if not document.passage.strip():
            continue
        published = document.published_at
        rows[document.content_id] = {
            "name": name,
            "own": own,
            "first_seen_ms": seen_ms,
            "last_seen_ms": seen_ms,
            "published_ms": milliseconds(published) if published else None,
            "url": _bytes(document.url),
            "title": _bytes(document.title),
            "text": _bytes(document.text),
        }
    return {id_: {"id": id_, **rows[id_]} for id_ in sorted(rows)}


def _last_of_each_name(
    documents: Iterable[tuple[str | None, Document]],
) -> list[tuple[str | None, Document]]:
    pairs = list(documents)
    last = {name: place for place, (name, _) in enumerate(pairs)}
    return [pair for place, pair in enumerate(pairs) if pair[0] is None or last[pair[0]] == place]


def _upsert(connection: Connection, rows: Mapping[str, Mapping[str, Any]]) -> Added:
    """Insert the rows; of those that are there, widen the times and keep who wanted them."""
    known = 0
    locked(connection, new=1)
    for chunk in chunks(rows):
        there = select(func.count()).select_from(CORPUS_TEXTS).where(_TEXTS.id.in_(chunk))
        known += connection.execute(there).scalar_one()
    insert = dialect_insert(connection, CORPUS_TEXTS)
    new = insert.excluded
    earlier = new.first_seen_ms < _TEXTS.first_seen_ms
    later = new.last_seen_ms > _TEXTS.last_seen_ms
    statement = insert.on_conflict_do_update(
        index_elements=[_TEXTS.id],
        set_={
            "name": func.coalesce(new.name, _TEXTS.name),
            "own": _TEXTS.own | new.own,
            "first_seen_ms": case((earlier, new.first_seen_ms), else_=_TEXTS.first_seen_ms),
            "last_seen_ms": case((later, new.last_seen_ms), else_=_TEXTS.last_seen_ms),
            "published_ms": func.coalesce(_TEXTS.published_ms, new.published_ms),
        },
    )
    connection.execute(statement, list(rows.values()))
    return Added(len(rows) - known, known)


def _note_query(connection: Connection, ids: Sequence[str], query_id: str, seen_ms: int) -> None:
    """Remember what the query found; of a text, the queries that found it last."""
    insert = dialect_insert(connection, CORPUS_QUERIES)
    new = insert.excluded.last_seen_ms
    later = case((new > _QUERIES.last_seen_ms, new), else_=_QUERIES.last_seen_ms)
    upsert = insert.on_conflict_do_update(
        index_elements=[_QUERIES.text_id, _QUERIES.query_id], set_={"last_seen_ms": later}
    )
    rows = [{"text_id": id_, "query_id": query_id, "last_seen_ms": seen_ms} for id_ in ids]
    connection.execute(upsert, rows)
    for chunk in chunks(ids):
        order = (_QUERIES.last_seen_ms.desc(), _QUERIES.query_id)
        place = func.row_number().over(partition_by=_QUERIES.text_id, order_by=order)
        ranked = (
            select(_QUERIES.text_id, _QUERIES.query_id, place.label("place"))
            .where(_QUERIES.text_id.in_(chunk))
            .subquery()
        )
        surplus = connection.execute(
            select(ranked.c.text_id, ranked.c.query_id).where(ranked.c.place > QUERIES_PER_TEXT)
        ).all()
        for text_id, old in surplus:
            pair = (_QUERIES.text_id == text_id, _QUERIES.query_id == old)
            connection.execute(delete(CORPUS_QUERIES).where(*pair))


def address_begins(prefix: str) -> ColumnElement[bool]:
    """Whether a text's address begins so, byte by byte."""
    start = _bytes(prefix)
    return func.substr(_TEXTS.url, 1, len(start)) == start


def _delete(connection: Connection, condition: ColumnElement[bool]) -> int:
    """Delete the texts that fit, with all that belongs to them; the corpus is locked."""
    statement = delete(CORPUS_TEXTS).where(condition).returning(_TEXTS.id)
    deleted = connection.execute(statement).scalars().all()
    for chunk in chunks(deleted):
        connection.execute(delete(CORPUS_VECTORS).where(_VECTORS.text_id.in_(chunk)))
        connection.execute(delete(CORPUS_QUERIES).where(_QUERIES.text_id.in_(chunk)))
    if deleted:
        count_deletion(connection)
    return len(deleted)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    """Split ids into lists that one statement takes."""
    rest = iter(ids)
    while chunk := list(islice(rest, IDS_PER_STATEMENT)):
        yield chunk
