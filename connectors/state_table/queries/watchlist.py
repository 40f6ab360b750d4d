"""The watchlist: queries, when each is due, and the used part of the search budget.

Several collectors may share one list; `claim` decides which of them fetches a query. Callers pass
the times, in milliseconds since 1970-01-01 UTC.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Engine, case, func, null, select, update

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import SEARCH_CREDITS, WATCHLIST

DUE_AT_ONCE = 0
_W = WATCHLIST.c


class WatchedQuery(NamedTuple):
    """One query of the list.

    `entry` is the JSON text of `replace_all`. `last_fetched_ms` is None before the first fetch.
    `next_due_ms` is when the query is due, or when the claim of another collector ends.
    """

    query_id: str
    entry: str
    last_fetched_ms: int | None
    next_due_ms: int


_ROWS = select(*(_W[name] for name in WatchedQuery._fields))


def load_active(engine: Engine) -> list[WatchedQuery]:
    """Return the active queries, in the order of the list."""
    rows = db.fetch(engine, _ROWS.where(_W.active).order_by(_W.position))
    return [WatchedQuery(*row) for row in rows]


def find(engine: Engine, query_id: str) -> WatchedQuery | None:
    """Return one query, also an inactive one; None if it never was on the list."""
    rows = db.fetch(engine, _ROWS.where(_W.query_id == query_id))
    return WatchedQuery(*rows[0]) if rows else None


def version(engine: Engine) -> tuple[int, int]:
    """Return two numbers that change whenever the active list does."""
    listed = select(func.count(), func.coalesce(func.max(_W.updated_ms), 0)).where(_W.active)
    ((count, latest),) = db.fetch(engine, listed)
    return int(count), int(latest)


def replace_all(engine: Engine, entries: Sequence[tuple[str, str]], now_ms: int) -> None:
    """Replace the whole list by (query id, entry) pairs, in one transaction.

    A query with an unchanged entry keeps its fetch times; a changed or new one is due at once, and
    a running fetch of it does not count. A missing query becomes inactive and keeps its times.
    Raises ValueError for a repeated id.
    """
    if len({query_id for query_id, _ in entries}) < len(entries):
        raise ValueError("a query id comes twice in the watchlist")
    given = {"active": True, "updated_ms": now_ms, "next_due_ms": DUE_AT_ONCE}
    rows = [
        {"query_id": query_id, "entry": entry, "position": position, **given}
        for position, (query_id, entry) in enumerate(entries)
    ]
    new = db.excluded(WATCHLIST)
    same = _W.entry == new.entry
    changed = {
        "entry": new.entry,
        "position": new.position,
        "active": new.active,
        "updated_ms": case((same, _W.updated_ms), else_=new.updated_ms),
        "last_fetched_ms": case((same, _W.last_fetched_ms), else_=null()),
        "next_due_ms": case((same, _W.next_due_ms), else_=DUE_AT_ONCE),
    }

    def replace(connection: Connection) -> None:
        connection.execute(update(WATCHLIST).values(active=False))
        if rows:
            db.upsert(connection, WATCHLIST, rows, changed=changed)

    db.in_transaction(engine, replace)


def claim(engine: Engine, query_id: str, due_ms: int, now_ms: int, lease_ms: int) -> bool:
    """Claim a query that was loaded with `next_due_ms == due_ms`, to fetch it.

    One of several collectors gets True. The query is then not due before `now_ms + lease_ms`, when
    the claim of a crashed collector ends; so the lease must be longer than a fetch. False also if
    the query became inactive. Raises ValueError if it is not due.
    """
    if due_ms > now_ms or lease_ms < 1:
        raise ValueError(f"query {query_id!r} is not due, or the lease is not positive")
    mine = (_W.query_id == query_id, _W.next_due_ms == due_ms, _W.active)
    taken = update(WATCHLIST).where(*mine).values(next_due_ms=now_ms + lease_ms)
    return db.write(engine, taken) == 1


def record_fetch(
    engine: Engine,
    query_id: str,
    claimed_until_ms: int,
    *,
    fetched_ms: int | None,
    next_due_ms: int,
) -> bool:
    """End a claim: note the fetch at `fetched_ms` (None: it failed), and the next due time.

    `claimed_until_ms` is the `now_ms + lease_ms` of the claim. False, with nothing written, if the
    claim is over, because another collector has the query or its entry was changed.
    """
    times = {"next_due_ms": next_due_ms}
    if fetched_ms is not None:
        times["last_fetched_ms"] = fetched_ms
    mine = (_W.query_id == query_id, _W.next_due_ms == claimed_until_ms)
    return db.write(engine, update(WATCHLIST).where(*mine).values(times)) == 1


def spend_credit(engine: Engine, period: str, amount: int, budget: int) -> bool:
    """Book `amount` credits in a period (such as "2025-03"); False if that exceeds `budget`.

    Call it before a request. Several processes together never exceed the budget. Raises ValueError
    if `amount` is not positive.
    """
    if amount < 1:
        raise ValueError(f"amount must be positive, got {amount}")
    if amount > budget:
        return False
    row, used = {"period": period, "used": amount}, SEARCH_CREDITS.c.used + amount
    return db.put(engine, SEARCH_CREDITS, row, changed={"used": used}, only_if=used <= budget) == 1


def credits_used(engine: Engine, period: str) -> int:
    """Return the credits booked in a period."""
    counted = select(SEARCH_CREDITS.c.used).where(SEARCH_CREDITS.c.period == period)
    return db.fetch_value(engine, counted) or 0
