"""Which queries are fetched, when each is due, and how much of the search budget is used.

Several collectors may work on one list: whoever wins the compare-and-set of `claim` fetches. Times
are milliseconds since 1970-01-01 UTC and come from the caller; nothing here looks at a clock.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Engine, Update, case, null, select, update

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.database.tables import (
    SEARCH_CREDITS,
    WATCHLIST,
    dialect_insert,
)

DUE_AT_ONCE = 0


class WatchedQuery(NamedTuple):
    """One query of the list.

    `entry` is the JSON text that `replace_all` was given, opaque here. `last_fetched_ms` is None
    before the first fetch. `next_due_ms` is what `claim` compares with: the time from which the
    query is due, or until which somebody else holds it.
    """

    query_id: str
    entry: str
    last_fetched_ms: int | None
    next_due_ms: int


_COLUMNS = tuple(WATCHLIST.c[name] for name in WatchedQuery._fields)


def load_active(engine: Engine) -> list[WatchedQuery]:
    """Return the queries that are fetched, in the order of the list."""
    statement = select(*_COLUMNS).where(WATCHLIST.c.active).order_by(WATCHLIST.c.position)
    with engine.connect() as connection:
        return [WatchedQuery(*row) for row in connection.execute(statement)]


def find(engine: Engine, query_id: str) -> WatchedQuery | None:
    """Return one query, also if it has left the list; None if it never was on it."""
    statement = select(*_COLUMNS).where(WATCHLIST.c.query_id == query_id)
    with engine.connect() as connection:
        row = connection.execute(statement).one_or_none()
    return WatchedQuery(*row) if row else None


def replace_all(engine: Engine, entries: Sequence[tuple[str, str]], now_ms: int) -> None:
    """Make these (query id, entry) pairs the whole list, in this order, in one transaction.

    A query whose entry is the same text keeps its fetch times; a changed or new one is due at
    once, and a fetch of it that is under way no longer counts. A query that is missing becomes
    inactive: it keeps its times for its return, until it is forgotten. ValueError when an id
    comes twice.
    """
    if len({query_id for query_id, _ in entries}) < len(entries):
        raise ValueError("a query id comes twice in the watchlist")
    rows = [
        {
            "query_id": query_id,
            "entry": entry,
            "position": position,
            "active": True,
            "updated_ms": now_ms,
            "next_due_ms": DUE_AT_ONCE,
        }
        for position, (query_id, entry) in enumerate(entries)
    ]

    def write() -> None:
        with engine.begin() as connection:
            connection.execute(update(WATCHLIST).values(active=False))
            insert = dialect_insert(connection, WATCHLIST)
            same = WATCHLIST.c.entry == insert.excluded.entry
            upsert = insert.on_conflict_do_update(
                index_elements=[WATCHLIST.c.query_id],
                set_={
                    "entry": insert.excluded.entry,
                    "position": insert.excluded.position,
                    "active": insert.excluded.active,
                    "updated_ms": case(
                        (same, WATCHLIST.c.updated_ms), else_=insert.excluded.updated_ms
                    ),
                    "last_fetched_ms": case((same, WATCHLIST.c.last_fetched_ms), else_=null()),
                    "next_due_ms": case((same, WATCHLIST.c.next_due_ms), else_=DUE_AT_ONCE),
                },
            )
            if rows:
                connection.execute(upsert, rows)

    retry_contended(write)


def claim(engine: Engine, query_id: str, due_ms: int, now_ms: int, lease_ms: int) -> bool:
    """Take the right to fetch a query, which was loaded with `next_due_ms == due_ms`.

    Of several collectors that loaded the same, one gets True. The query is then not due before
    `now_ms + lease_ms`; a collector that dies gives it up by that alone, so the lease must be
    longer than a fetch. False also when the query left the list. ValueError when it is not due.
    """
    if due_ms > now_ms or lease_ms < 1:
        raise ValueError(f"query {query_id!r} is not due, or the lease is not positive")
    statement = (
        update(WATCHLIST)
        .where(
            WATCHLIST.c.query_id == query_id,
            WATCHLIST.c.next_due_ms == due_ms,
            WATCHLIST.c.active,
        )
        .values(next_due_ms=now_ms + lease_ms)
    )
    return _changed_one(engine, statement)


def record_fetch(
    engine: Engine,
    query_id: str,
    claimed_until_ms: int,
    *,
    fetched_ms: int | None,
    next_due_ms: int,
) -> bool:
    """End a claim: the query was fetched at `fetched_ms` (None: not) and is due at `next_due_ms`.

    `claimed_until_ms` is the `now_ms + lease_ms` of the claim. False, with nothing written, when
    the claim no longer holds: it ran out and another collector took the query, or the entry was
    changed meanwhile, so that the query is due under its new wording.
    """
    times: dict[str, int] = {"next_due_ms": next_due_ms}
    if fetched_ms is not None:
        times["last_fetched_ms"] = fetched_ms
    statement = (
        update(WATCHLIST)
        .where(WATCHLIST.c.query_id == query_id, WATCHLIST.c.next_due_ms == claimed_until_ms)
        .values(times)
    )
    return _changed_one(engine, statement)


def spend_credit(engine: Engine, period: str, amount: int, budget: int) -> bool:
    """Count `amount` more credits in a period (such as "2025-03"), unless that passes `budget`.

    True when they were counted. Never passes the budget, however many processes spend at once;
    call it before the request that costs. ValueError when `amount` is not positive.
    """
    if amount < 1:
        raise ValueError(f"amount must be positive, got {amount}")
    if amount > budget:
        return False
    used = SEARCH_CREDITS.c.used

    def write() -> bool:
        with engine.begin() as connection:
            statement = dialect_insert(connection, SEARCH_CREDITS).on_conflict_do_update(
                index_elements=[SEARCH_CREDITS.c.period],
                set_={"used": used + amount},
                where=used + amount <= budget,
            )
            counted = statement.execution_options(preserve_rowcount=True)
            return connection.execute(counted, {"period": period, "used": amount}).rowcount == 1

    return retry_contended(write)


def credits_used(engine: Engine, period: str) -> int:
    """Return the credits counted in a period so far."""
    statement = select(SEARCH_CREDITS.c.used).where(SEARCH_CREDITS.c.period == period)
    with engine.connect() as connection:
        return connection.execute(statement).scalar_one_or_none() or 0


def _changed_one(engine: Engine, statement: Update) -> bool:
    def write() -> bool:
        with engine.begin() as connection:
            return connection.execute(statement).rowcount == 1

    return retry_contended(write)
