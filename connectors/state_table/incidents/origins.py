"""What was found out about wrong answers: one row each, its last event with it.

Times are milliseconds since 1970-01-01 UTC and come from the caller; nothing here looks at a clock.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, LargeBinary, case, cast, func, select, update

from radarstream.connectors.state_table.database.tables import ORIGINS, dialect_insert
from radarstream.schemas.codec import decode_origin, encode
from radarstream.schemas.errors import InputError
from radarstream.schemas.reports import OriginEvent, Word

_O = ORIGINS.c
# SQLite stores what it is given, whatever a column's type.
STORED_EVENT = cast(_O.event, LargeBinary).label("event")
WORD = case((_O.model_erred, Word.MODEL_ERRED.value), else_=_O.word).label("word")


@dataclass(frozen=True, slots=True)
class Origin:
    """A row, held by the transaction that read it.

    `event` is None before the attribution, and where it is damaged: the answer is attributed anew.
    """

    misgeneration: str
    revision: int
    word: Word | None
    everywhere: bool
    event: OriginEvent | None


def hold(connection: Connection, misgeneration: str, query_id: str, step: int) -> Origin:
    """Take the row of a wrong answer, made if there is none; others wait for the transaction."""
    fresh = {
        "misgeneration": misgeneration,
        "query_id": query_id,
        "step": step,
        "revision": -1,
        "everywhere": False,
        "model_calls": 0,
    }
    # Written first: on SQLite it is a write that takes the lock, a read would be outdated by then.
    connection.execute(dialect_insert(connection, ORIGINS).on_conflict_do_nothing(), fresh)
    statement = select(_O.revision, WORD, _O.everywhere, STORED_EVENT)
    row = connection.execute(
        statement.where(_O.misgeneration == misgeneration).with_for_update()
    ).one()
    return _origin(misgeneration, row)


def look(engine: Engine, misgeneration: str) -> Origin | None:
    """Return the row of a wrong answer as it is now; None if there is none."""
    statement = select(_O.revision, WORD, _O.everywhere, STORED_EVENT)
    with engine.connect() as connection:
        row = connection.execute(statement.where(_O.misgeneration == misgeneration)).one_or_none()
    return _origin(misgeneration, row) if row else None


def list_origins(
    engine: Engine, query_id: str | None = None, limit: int = 100
) -> list[OriginEvent]:
    """Return the last event of each attributed answer, attributed last first."""
    newest = (_O.attributed_ms.desc(), _O.misgeneration)
    statement = select(STORED_EVENT).where(_O.event.is_not(None)).order_by(*newest)
    if query_id is not None:
        statement = statement.where(_O.query_id == query_id)
    with engine.connect() as connection:
        stored = connection.execute(statement.limit(limit)).scalars()
        return [event for event in map(readable, stored) if event is not None]


def readable(stored: bytes | None) -> OriginEvent | None:
    """Decode a stored event; None where there is none, or a damaged one."""
    try:
        return decode_origin(stored) if stored else None
    except InputError:
        return None


def write_event(connection: Connection, event: OriginEvent) -> None:
    """Store the event of a held row."""
    connection.execute(
        update(ORIGINS)
        .where(_O.misgeneration == event.misgeneration)
        .values(
            revision=event.revision,
            decision=event.decision,
            finding=event.finding,
            event=encode(event),
        )
    )


def note_attribution(
    connection: Connection,
    misgeneration: str,
    *,
    at_ms: int,
    model_calls: int,
    reserved: bool = False,
) -> None:
    """Note on a held row when it was attributed and what that cost; costs of retries add up.

    `reserved` tells which half of the budget paid.
    """
    connection.execute(
        update(ORIGINS)
        .where(_O.misgeneration == misgeneration)
        .values(attributed_ms=at_ms, model_calls=_O.model_calls + model_calls, reserved=reserved)
    )


def give_word(
    connection: Connection, misgeneration: str, word: Word, *, everywhere: bool, at_ms: int
) -> None:
    """Write down on a held row what a person said, and since when."""
    # Said again it is as old as before: who reported in between repeated what was known.
    since = case((WORD.is_not_distinct_from(word), _O.word_ms), else_=at_ms)
    erred = word is Word.MODEL_ERRED
    kept = Word.DISMISSED if erred else word
    connection.execute(
        update(ORIGINS)
        .where(_O.misgeneration == misgeneration)
        .values(word=kept, model_erred=erred, word_ms=since, everywhere=everywhere)
    )


def spent(engine: Engine, hour_ago_ms: int, day_ago_ms: int, *, reserved: bool) -> tuple[int, int]:
    """Return the attributions since the first time and the model calls since the second.

    Of the half of the budget that is reserved, or of the other one.
    """
    mine = _O.reserved == reserved
    recent = select(func.count()).where(_O.attributed_ms >= hour_ago_ms, mine)
    called = func.coalesce(func.sum(_O.model_calls), 0)
    calls = select(called).where(_O.attributed_ms >= day_ago_ms, mine)
    with engine.connect() as connection:
        return connection.execute(recent).scalar_one(), int(connection.execute(calls).scalar_one())


def _origin(misgeneration: str, row: Any) -> Origin:
    return Origin(
        misgeneration,
        row.revision,
        Word(row.word) if row.word in tuple(Word) else None,
        row.everywhere,
        readable(row.event),
    )
