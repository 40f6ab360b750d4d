"""The action log: which user did what. Only forgetting changes rows."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine, insert, or_, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import ACTION_LOG
from radarstream.schemas.codec import clean

LONGEST: Final = 2_000  # characters of a target or a detail
_A = ACTION_LOG.c


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """One row. `at_ms` is in milliseconds since 1970, `target` is an id."""

    seq: int
    at_ms: int
    user: str
    action: str
    target: str
    detail: str


def write_action(
    connection: Connection, *, at_ms: int, user: str, action: str, target: str, detail: str = ""
) -> None:
    """Add a row in the caller's transaction, which also has the action."""
    row = {
        "at_ms": at_ms,
        "user_name": clean(user),
        "action": action,
        "target": clean(target)[:LONGEST],
        "detail": clean(detail)[:LONGEST],
    }
    connection.execute(insert(ACTION_LOG), row)


def log_action(
    engine: Engine, *, at_ms: int, user: str, action: str, target: str, detail: str = ""
) -> None:
    """Add a row in a transaction of its own."""
    db.in_transaction(
        engine,
        lambda connection: write_action(
            connection, at_ms=at_ms, user=user, action=action, target=target, detail=detail
        ),
    )


def read_actions(
    engine: Engine, *, search: str = "", user: str | None = None, limit: int = 100
) -> list[LoggedAction]:
    """Return the newest rows first, of all users or one, with `search` only those that have it."""
    statement = select(*ACTION_LOG.columns).order_by(_A.seq.desc()).limit(limit)
    if search:
        texts = (_A.user_name, _A.action, _A.target, _A.detail)
        statement = statement.where(or_(*(t.icontains(search, autoescape=True) for t in texts)))
    if user is not None:
        statement = statement.where(_A.user_name == user)
    return [LoggedAction(*row) for row in db.fetch(engine, statement)]


def last_action_on(connection: Connection, target: str) -> LoggedAction | None:
    """Return the newest row about a target; None without one."""
    mine = _A.target == clean(target)[:LONGEST]
    statement = select(*ACTION_LOG.columns).where(mine).order_by(_A.seq.desc()).limit(1)
    row = connection.execute(statement).first()
    return None if row is None else LoggedAction(*row)
