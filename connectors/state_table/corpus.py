"""Documents that questions can be answered from: found by queries, or a user's own.

A text is kept once, under the `content_id` of its document, whoever finds it and how often. Times
are milliseconds of event time and come from the caller. Writers of the corpus go one after another
(see `corpus_vectors.locked`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    Select,
    and_,
    case,
    delete,
    exists,
    func,
    not_,
    select,
    update,
)

from connectors.state_table.corpus_vectors import count_deletion, locked
from connectors.state_table.engine import retry_contended
from connectors.state_table.tables import (
    CORPUS_QUERIES,
    CORPUS_STATE,
    CORPUS_TEXTS,
    CORPUS_VECTORS,
    dialect_insert,
)
from schemas.snapshot import Document

QUERIES_PER_TEXT: Final = 16
IDS_PER_STATEMENT: Final = 500
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TEXTS, _QUERIES, _VECTORS = CORPUS_TEXTS.c, CORPUS_QUERIES.c, CORPUS_VECTORS.c


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text of the corpus; `queries` are those it was found for last, at most 16, sorted.

    The document's rank means nothing here. `own`: a user added it, so neither time nor a forgotten
    query removes it; `name` is the user's own id for it.
    """

    id: str
    document: Document
    first_seen_ms: int
    last_seen_ms: int
    own: bool
    name: str | None = None
    queries: tuple[str, ...] = ()


class Added(NamedTuple):
    """Distinct texts of one addition: how many were new, how many were there before."""

    new: int
    known: int


class Statistics(NamedTuple):
    """What the corpus holds. `embedded` texts can be found, of `unusable` no vector can be made."""

    texts: int
    own: int
    embedded: int
    unusable: int
    queries: int
    first_seen_ms: int | None
    last_seen_ms: int | None
    model: str | None


def add_found(engine: Engine, documents: Iterable[Document], query_id: str, seen_ms: int) -> Added:
    """Keep what a query found at one moment, in one transaction; again is the same as once."""
    rows = _rows(((None, document) for document in documents), seen_ms, own=False)

    def work() -> Added:
        with engine.begin() as connection:
            added = _upsert(connection, rows)
            _note_query(connection, list(rows), query_id, seen_ms)
            return added

    return retry_contended(work) if rows else Added(0, 0)


def add_own(
    engine: Engine, documents: Iterable[tuple[str | None, Document]], seen_ms: int
) -> Added:
    """Keep a user's (name, document) pairs for good, in one transaction.

    A name that the corpus knows leaves its old text for the new one: the old one is deleted.
    """
    rows = _rows(_last_of_each_name(documents), seen_ms, own=True)
    named = {row["name"]: id_ for id_, row in rows.items() if row["name"] is not None}

    def work() -> Added:
        with engine.begin() as connection:
            locked(connection)
            for chunk in _chunks(named):
                outdated = _TEXTS.name.in_(chunk) & _TEXTS.id.not_in([named[n] for n in chunk])
                _delete(connection, outdated)
                # Two texts may swap their names; no two may have one at any moment.
                freed = update(CORPUS_TEXTS).where(_TEXTS.name.in_(chunk)).values(name=None)
                connection.execute(freed)
            return _upsert(connection, rows)

    return retry_contended(work) if rows else Added(0, 0)


def remove(engine: Engine, ids: Iterable[str]) -> int:
    """Delete texts by id or by a user's name; return how many there were."""
    wanted = list(dict.fromkeys(ids))

    def work() -> int:
        with engine.begin() as connection:
            locked(connection)
            return sum(
                _delete(connection, _TEXTS.id.in_(chunk) | _TEXTS.name.in_(chunk))
                for chunk in _chunks(wanted)
            )

    return retry_contended(work) if wanted else 0


def remove_url_prefix(engine: Engine, prefix: str) -> int:
    """Delete the texts whose address begins so, the user's own too; return how many."""
    start = _bytes(prefix)
    matches = func.substr(_TEXTS.url, 1, len(start)) == start
    return _remove_where(engine, matches)


def prune(engine: Engine, before_ms: int) -> int:
    """Delete what was found but not seen again since; the user's own texts stay."""
    return _remove_where(engine, not_(_TEXTS.own) & (_TEXTS.last_seen_ms < before_ms))


def shrink(engine: Engine, most: int, *, down_to: int | None = None) -> int:
    """Where more than `most` found texts are there, delete those seen longest ago.

    Leaves `down_to` of them, or `most`. Returns how many found texts are there afterwards.
    """
    found = select(func.count()).select_from(CORPUS_TEXTS).where(not_(_TEXTS.own))

    def work() -> int:
        with engine.begin() as connection:
            locked(connection)
            count = connection.execute(found).scalar_one()
            if count <= most:
                return count
            surplus = count - (most if down_to is None else down_to)
            oldest = (
                select(_TEXTS.id)
                .where(not_(_TEXTS.own))
                .order_by(_TEXTS.last_seen_ms, _TEXTS.id)
                .limit(surplus)
            )
            return count - _delete(connection, _TEXTS.id.in_(oldest))

    return retry_contended(work)


def forget_query(connection: Connection, query_id: str) -> int:
    """Delete what was found for this query alone, in the caller's transaction; return how many.

    Texts that other queries found, or a user added, lose the query's name only.
    """
    locked(connection)
    mine = select(_QUERIES.text_id).where(_QUERIES.query_id == query_id)
    others = exists().where(_QUERIES.text_id == _TEXTS.id, _QUERIES.query_id != query_id)
    alone = and_(_TEXTS.id.in_(mine), not_(_TEXTS.own), not_(others))
    deleted = _delete(connection, alone)
    connection.execute(delete(CORPUS_QUERIES).where(_QUERIES.query_id == query_id))
    return deleted


def read(engine: Engine, ids: Sequence[str]) -> dict[str, StoredText]:
    """Return the texts with these ids; what is not there is missing."""
    found: dict[str, StoredText] = {}
    with engine.connect() as connection:
        for chunk in _chunks(ids):
            statement = select(CORPUS_TEXTS).where(_TEXTS.id.in_(chunk))
            found |= {text.id: text for text in _stored(connection, statement)}
    return found


def newest(
    engine: Engine, limit: int, *, query_id: str | None = None, url_prefix: str = ""
) -> list[StoredText]:
    """Return the texts seen last, newest first: of one query, of one place, or all."""
    statement = select(CORPUS_TEXTS).order_by(_TEXTS.last_seen_ms.desc(), _TEXTS.id).limit(limit)
    if query_id is not None:
        mine = select(_QUERIES.text_id).where(_QUERIES.query_id == query_id)
        statement = statement.where(_TEXTS.id.in_(mine))
    if url_prefix:
        start = _bytes(url_prefix)
        statement = statement.where(func.substr(_TEXTS.url, 1, len(start)) == start)
    with engine.connect() as connection:
        return _stored(connection, statement)


def statistics(engine: Engine) -> Statistics:
    """Count what is there."""

    def count(*conditions: ColumnElement[bool]) -> Any:
        return select(func.count()).where(*conditions).scalar_subquery()

    usable = func.length(_VECTORS.vector) > 0
    statement = select(
        select(func.count()).select_from(CORPUS_TEXTS).scalar_subquery(),
        count(_TEXTS.own),
        count(usable),
        count(not_(usable)),
        select(func.count(_QUERIES.query_id.distinct())).scalar_subquery(),
        select(func.min(_TEXTS.first_seen_ms)).scalar_subquery(),
        select(func.max(_TEXTS.last_seen_ms)).scalar_subquery(),
        select(CORPUS_STATE.c.model).scalar_subquery(),
    )
    with engine.connect() as connection:
        return Statistics(*connection.execute(statement).one())


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
            "published_ms": (published - _EPOCH) // timedelta(milliseconds=1)
            if published
            else None,
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
    for chunk in _chunks(rows):
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
    for chunk in _chunks(ids):
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


def _remove_where(engine: Engine, condition: ColumnElement[bool]) -> int:
    def work() -> int:
        with engine.begin() as connection:
            locked(connection)
            return _delete(connection, condition)

    return retry_contended(work)


def _delete(connection: Connection, condition: ColumnElement[bool]) -> int:
    """Delete the texts that fit, with all that belongs to them; the corpus is locked."""
    statement = delete(CORPUS_TEXTS).where(condition).returning(_TEXTS.id)
    deleted = connection.execute(statement).scalars().all()
    for chunk in _chunks(deleted):
        connection.execute(delete(CORPUS_VECTORS).where(_VECTORS.text_id.in_(chunk)))
        connection.execute(delete(CORPUS_QUERIES).where(_QUERIES.text_id.in_(chunk)))
    if deleted:
        count_deletion(connection)
    return len(deleted)


def _stored(connection: Connection, statement: Select[Any]) -> list[StoredText]:
    rows = connection.execute(statement).all()
    queries: dict[str, list[str]] = {row.id: [] for row in rows}
    for chunk in _chunks(queries):
        pairs = select(_QUERIES.text_id, _QUERIES.query_id).where(_QUERIES.text_id.in_(chunk))
        for text_id, query_id in connection.execute(pairs):
            queries[text_id].append(query_id)
    return [_text_of(row, queries[row.id]) for row in rows]


def _text_of(row: Row[Any], queries: Sequence[str]) -> StoredText:
    published = None
    if row.published_ms is not None:
        published = _EPOCH + timedelta(milliseconds=row.published_ms)
    document = document_of(row.text, row.title, row.url, published)
    seen = (row.first_seen_ms, row.last_seen_ms)
    return StoredText(row.id, document, *seen, row.own, row.name, tuple(sorted(queries)))


def document_of(
    text: bytes, title: bytes, url: bytes, published_at: datetime | None = None
) -> Document:
    """Read a document from its columns; rank 1 stands for none."""
    words = [bytes(part).decode("utf-8", "surrogatepass") for part in (text, title, url)]
    return Document(1, words[0], words[1], words[2], published_at)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(ids)
    while chunk := list(islice(rest, IDS_PER_STATEMENT)):
        yield chunk
