"""Texts in quarantine: left out of snapshots because they taught a wrong answer, not deleted."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, func, or_, select, update

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import INCIDENTS, QUARANTINE
from radarstream.schemas.incidents import AttributedText

_Q = QUARANTINE.c


def withheld_keys(engine: Engine, query_ids: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the keys (see `text_key`) of the texts to leave out, by query that has any."""
    wanted = list(dict.fromkeys(query_ids))
    statement = select(_Q.query_id, _Q.text_key, _Q.everywhere).where(
        _Q.active, or_(_Q.everywhere, _Q.query_id.in_(wanted))
    )
    rows = db.fetch(engine, statement)
    shared = frozenset(key for _, key, everywhere in rows if everywhere)
    own: dict[str, set[str]] = {query_id: set(shared) for query_id in wanted}
    for query_id, key, _ in rows:
        if query_id in own:
            own[query_id].add(key)
    return {query_id: frozenset(keys) for query_id, keys in own.items() if keys}


def put(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the texts of an incident in the caller's transaction; known ones stay.

    A row has all columns except `active`, `everywhere` and `released`, which begin false.
    """
    if rows:
        fresh = {"active": False, "everywhere": False, "released": False}
        db.insert_new(connection, QUARANTINE, [{**row, **fresh} for row in rows])


def switch(
    connection: Connection, incident: str, *, active: bool, everywhere: bool, now_ms: int
) -> None:
    """Begin or end the quarantine of an incident's texts, except released ones."""
    connection.execute(
        update(QUARANTINE)
        .where(_Q.incident == incident, ~_Q.released)
        .values(active=active, everywhere=everywhere, updated_ms=now_ms)
    )


def choose(connection: Connection, incident: str, text_keys: Collection[str] | None) -> None:
    """Release the texts of an incident except those with these keys; None releases none.

    `switch` decides about the others.
    """
    values: dict[str, Any] = {"released": False}
    if text_keys is not None:
        chosen = _Q.text_key.in_(text_keys)
        values = {"released": ~chosen, "active": _Q.active & chosen}
    connection.execute(update(QUARANTINE).where(_Q.incident == incident).values(values))


def release(connection: Connection, query_id: str, text_keys: Sequence[str], now_ms: int) -> int:
    """Release texts of a query from quarantine; return how many rows changed.

    A later incident, or a person's new approval, may quarantine them again.
    """
    mine = (_Q.query_id == query_id, _Q.text_key.in_(text_keys))
    held = update(QUARANTINE).where(*mine, _Q.active)
    freed = held.values(active=False, released=True, updated_ms=now_ms)
    return connection.execute(freed).rowcount


def texts_of(connection: Connection, incident: str) -> list[dict[str, Any]]:
    """Return all texts of an incident: in quarantine, proposed or released."""
    statement = select(*_Q).where(_Q.incident == incident).order_by(_Q.text_key)
    return [row._asdict() for row in connection.execute(statement)]


def let_in(texts: Iterable[AttributedText], rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the ids of an incident's texts that a person released, by its rows."""
    released = {row["text_key"] for row in rows if row["released"]}
    return tuple(text.id for text in texts if text.text_key in released)


def list_quarantine(
    engine: Engine, query_id: str | None = None, *, active_only: bool = True, limit: int = 1_000
) -> list[dict[str, Any]]:
    """Return texts in quarantine, the newest first, with the status of their incident.

    Without `active_only`, also those that were proposed, released or dismissed.
    """
    statement = (
        select(*_Q, INCIDENTS.c.status)
        .outerjoin(INCIDENTS, INCIDENTS.c.incident == _Q.incident)
        .order_by(_Q.updated_ms.desc(), _Q.incident, _Q.text_key)
        .limit(limit)
    )
    if query_id is not None:
        statement = statement.where(_Q.query_id == query_id)
    if active_only:
        statement = statement.where(_Q.active)
    return [row._asdict() for row in db.fetch(engine, statement)]


def count_active(engine: Engine) -> int:
    """Count the texts in quarantine."""
    return int(db.fetch_value(engine, select(func.count()).where(_Q.active)))


def holding(incident: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether an incident has a text in quarantine."""
    return select(_Q.text_key).where(_Q.incident == incident, _Q.active).exists()
