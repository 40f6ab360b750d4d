"""The last answer events of each query, for its history and for whoever watches it live.

They are written in the fold's transaction, so that they say what the memory says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal
from unicodedata import normalize

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import KEPT_EVENTS
from radarstream.schemas.codec import clean, decode_answer, encode
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.times import milliseconds, time_at

SEARCHED: Final = 4_000  # characters of question and answer that a search looks at
GAP_READS: Final = 30  # how often a feed looks again for a number that it has not seen
Order = Literal["answered", "changed", "question"]
_K = KEPT_EVENTS.c
_DATA: Final = sa.cast(_K.event, sa.LargeBinary)  # SQLite stores what it is given
# Building a statement takes longer than SQLite does to run it.
_DROPPING: Final = sa.delete(KEPT_EVENTS).where(
    _K.query_id == sa.bindparam("of"),
    sa.or_(_K.step >= sa.bindparam("first"), _K.step <= sa.bindparam("last")),
)
_KEEPING: Final = sa.insert(KEPT_EVENTS)


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event and its number, which grows with every event that is kept."""

    seq: int
    event: AnswerEvent


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest event of a query. `changed_at` is when its answer last changed, as far as the
    kept events tell; None where none of them does.
    """

    seq: int
    event: AnswerEvent
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the queries, and how many there are in all."""

    latest: tuple[Latest, ...]
    total: int


def keep_event(connection: Connection, event: AnswerEvent, *, steps: int) -> None:
    """Keep an event in the caller's transaction; the query's last `steps` events stay.

    What is kept of this step or later ones is of a history that was given up, and goes.
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
    engine: Engine,
    *,
    search: str = "",
    order: Order = "answered",
    limit: int = 50,
    offset: int = 0,
) -> Page:
    """Return the latest event of every query: those observed last first, those whose answer changed
    last first, or by question.

    With `search`, only queries whose question or latest answer has these characters, whatever
    their case.
    """
    newer = KEPT_EVENTS.alias()
    latest = ~sa.exists().where(newer.c.query_id == _K.query_id, newer.c.step > _K.step)
    if search:
        latest &= _K.words.contains(searchable(search), autoescape=True)
    changed_ms = _changed_ms().label("changed_ms")
    first = {
        "answered": _K.observed_ms.desc(),
        "changed": sa.func.coalesce(changed_ms, 0).desc(),
        "question": _K.words,
    }
    rows = (
        sa.select(_K.seq, _DATA, changed_ms)
        .where(latest)
        .order_by(first[order], _K.query_id)
        .limit(limit)
        .offset(offset)
    )
    count = sa.select(sa.func.count()).select_from(KEPT_EVENTS).where(latest)
    with db.one_moment(engine) as connection:
        total = connection.execute(count).scalar_one()
        found = connection.execute(rows).all()
    read = ((seq, readable(data), at) for seq, data, at in found)
    told = tuple(
        Latest(seq, event, None if at is None else time_at(at))
        for seq, event, at in read
        if event is not None
    )
    return Page(told, total)


def history(engine: Engine, query_id: str, *, limit: int = 1_000) -> list[KeptEvent]:
    """Return the kept events of a query, the latest first; an empty list for an unknown one."""
    return _read(engine, _K.query_id == query_id, order=_K.step.desc(), limit=limit)


def find_event(engine: Engine, query_id: str, step: int | None = None) -> KeptEvent | None:
    """Return a query's kept event at a step, or its latest; None if there is none (any more)."""
    where = _K.query_id == query_id
    if step is not None:
        where &= _K.step == step
    return next(iter(_read(engine, where, order=_K.step.desc(), limit=1)), None)


def events_since(engine: Engine, seq: int, *, limit: int = 200) -> list[KeptEvent]:
    """Return the events with a higher number, in ascending order.

    On PostgreSQL a number may be seen before a lower one whose transaction takes longer. Whoever
    follows the events uses a `Feed`, which misses none.
    """
    return _read(engine, _K.seq > seq, order=_K.seq, limit=limit)


def asked_in_events(engine: Engine, questions: Sequence[str]) -> list[tuple[str, str]]:
    """Return id and question of the queries that ask one of the questions, whatever the case."""
    asking = (_K.words.startswith(searchable(text) + "\n", autoescape=True) for text in questions)
    latest = sa.select(sa.func.max(_K.seq)).where(sa.or_(*asking)).group_by(_K.query_id)
    found = _read(engine, _K.seq.in_(latest), order=_K.query_id, limit=1_000)
    return [(kept.event.query_id, kept.event.question) for kept in found]


def last_number(engine: Engine) -> int:
    """The highest number of an event that is kept; 0 without one."""
    return int(db.fetch_value(engine, sa.select(sa.func.max(_K.seq))) or 0)


@dataclass(slots=True)
class Feed:
    """Follows the events: each read returns what was kept since, every event once.

    `after` is the number to start behind. A number that was passed over may belong to a transaction
    that goes on, so the next reads look for it again. One reader at a time.
    """

    engine: Engine
    after: int
    missing: dict[int, int] = field(default_factory=dict, init=False)

    def read(self, limit: int = 200) -> list[KeptEvent]:
        """At most `limit` new events in ascending order of their numbers, and late ones."""
        late = _read(self.engine, _K.seq.in_(list(self.missing)), order=_K.seq, limit=limit)
        new = events_since(self.engine, self.after, limit=limit)
        for kept in late:
            del self.missing[kept.seq]
        self.missing = {seq: reads - 1 for seq, reads in self.missing.items() if reads > 1}
        if new:
            seen, last = {kept.seq for kept in new}, new[-1].seq
            skipped = range(max(self.after + 1, last - 10 * limit), last)
            self.missing |= {seq: GAP_READS for seq in skipped if seq not in seen}
            self.after = last
        return [*late, *new]


def searchable(text: str) -> str:
    """The words of a text as a search compares them."""
    return clean(normalize("NFKC", text).casefold())[:SEARCHED]


def readable(data: object) -> AnswerEvent | None:
    """Decode an event; None for a damaged one, which is as good as none."""
    try:
        return decode_answer(bytes(data)) if isinstance(data, bytes | memoryview) else None
    except InputError:
        return None


def _changed_ms() -> "sa.ScalarSelect[int]":
    other = KEPT_EVENTS.alias().c
    changed = (other.query_id == _K.query_id, other.changed.is_(True))
    return sa.select(sa.func.max(other.observed_ms)).where(*changed).scalar_subquery()


def _read(
    engine: Engine,
    where: sa.ColumnElement[bool],
    *,
    order: sa.ColumnElement[Any],
    limit: int,
) -> list[KeptEvent]:
    statement = sa.select(_K.seq, _DATA).where(where).order_by(order).limit(limit)
    rows = ((seq, readable(data)) for seq, data in db.fetch(engine, statement))
    return [KeptEvent(seq, event) for seq, event in rows if event is not None]
