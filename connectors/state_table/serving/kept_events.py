"""The last answer events of each query, written in the fold's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from unicodedata import normalize

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import KEPT_EVENTS
from radarstream.schemas.codec import clean, decode_answer, encode
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.times import milliseconds, time_at

SEARCHED: Final = 4_000  # characters of question and answer that are searched
_K = KEPT_EVENTS.c
_DATA: Final = sa.cast(_K.event, sa.LargeBinary)  # SQLite does not enforce types
# These are built once, which takes longer than running them.
_DROPPING: Final = sa.delete(KEPT_EVENTS).where(
    _K.query_id == sa.bindparam("of"),
    sa.or_(_K.step >= sa.bindparam("first"), _K.step <= sa.bindparam("last")),
)
_KEEPING: Final = sa.insert(KEPT_EVENTS)


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest event of a query. `changed_at` is the last change of its answer in the kept
    events, None without one.
    """

    event: AnswerEvent
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class EventList:
    """The latest events of some queries, and the number of all."""

    latest: tuple[Latest, ...]
    total: int


def keep_event(connection: Connection, event: AnswerEvent, *, steps: int) -> None:
    """Keep an event in the caller's transaction, with the query's last `steps` events.

    Events of this step or later belong to an earlier history, and are deleted.
    """
    stale = {"of": event.query_id, "first": event.step, "last": event.step - steps}
    connection.execute(_DROPPING, stale)
    row = {
        "query_id": event.query_id,
        "step": event.step,
        "observed_ms": milliseconds(event.observed_at),
        "changed": event.changed,
        "words": searchable(f"{event.question}\n{event.answer}"),
        "event": encode(event),
    }
    connection.execute(_KEEPING, row)


def latest_events(
    engine: Engine, *, search: str = "", sort: str = "", limit: int = 50, offset: int = 0
) -> EventList:
    """Return the latest event of every query, the newest first, or by `sort`: question, changed or
    answered, with "-" before it in descending order.

    With `search`, only queries whose question or latest answer has it, in any case.
    """
    newer = KEPT_EVENTS.alias()
    latest = ~sa.exists().where(newer.c.query_id == _K.query_id, newer.c.step > _K.step)
    if search:
        latest &= _K.words.contains(searchable(search), autoescape=True)
    changed_ms = _changed_ms().label("changed_ms")
    sorts = {"question": _K.words, "changed": changed_ms, "answered": _K.observed_ms}
    by = sorts.get(sort.removeprefix("-"))
    order = () if by is None else (sa.desc(by) if sort.startswith("-") else sa.asc(by),)
    rows = (
        sa.select(_DATA, changed_ms)
        .where(latest)
        .order_by(*order, _K.observed_ms.desc(), _K.query_id)
        .limit(limit)
        .offset(offset)
    )
    count = sa.select(sa.func.count()).select_from(KEPT_EVENTS).where(latest)
    with db.one_moment(engine) as connection:
        total = connection.execute(count).scalar_one()
        found = connection.execute(rows).all()
    latest_of = tuple(
        Latest(event, None if at is None else time_at(at))
        for event, at in ((readable(data), at) for data, at in found)
        if event is not None
    )
    return EventList(latest_of, total)


def history(engine: Engine, query_id: str, *, limit: int = 1_000) -> list[AnswerEvent]:
    """Return the kept events of a query, the latest first."""
    return _read(engine, _K.query_id == query_id, order=_K.step.desc(), limit=limit)


def find_event(engine: Engine, query_id: str, step: int | None = None) -> AnswerEvent | None:
    """Return a query's kept event at a step, or its latest; None if it is not kept."""
    where = _K.query_id == query_id
    if step is not None:
        where &= _K.step == step
    return next(iter(_read(engine, where, order=_K.step.desc(), limit=1)), None)


def asked_in_events(engine: Engine, questions: Sequence[str]) -> list[tuple[str, str]]:
    """Return id and question of the queries with one of the questions, in any case."""
    asking = (_K.words.startswith(searchable(text) + "\n", autoescape=True) for text in questions)
    latest = sa.select(sa.func.max(_K.seq)).where(sa.or_(*asking)).group_by(_K.query_id)
    found = _read(engine, _K.seq.in_(latest), order=_K.query_id, limit=1_000)
    return [(event.query_id, event.question) for event in found]


def searchable(text: str) -> str:
    """Normalise a text for searches."""
    return clean(normalize("NFKC", text).casefold())[:SEARCHED]


def readable(data: object) -> AnswerEvent | None:
    """Decode an event; None for a damaged one."""
    try:
        return decode_answer(bytes(data)) if isinstance(data, bytes | memoryview) else None
    except InputError:
        return None


def _changed_ms() -> "sa.ScalarSelect[int]":
    other = KEPT_EVENTS.alias().c
    changed = (other.query_id == _K.query_id, other.changed.is_(True))
    return sa.select(sa.func.max(other.observed_ms)).where(*changed).scalar_subquery()


def _read(
    engine: Engine, where: sa.ColumnElement[bool], *, order: sa.ColumnElement[Any], limit: int
) -> list[AnswerEvent]:
    statement = sa.select(_DATA).where(where).order_by(order).limit(limit)
    events = (readable(data) for (data,) in db.fetch(engine, statement))
    return [event for event in events if event is not None]
