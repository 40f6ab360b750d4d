"""Which queries are fetched, when each is due, and how much of the search budget is used.

Several collectors may work on one list: whoever wins the compare-and-set of `claim` fetches. Times
are milliseconds since 1970-01-01 UTC and come from the caller; nothing here looks at a clock.
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

    `entry` is the JSON text that `replace_all` was given, opaque here. `last_fetched_ms` is None
    before the first fetch. `next_due_ms` is what `claim` compares with: the time from which the
    query is due, or until which somebody else holds it.
    """

    query_id: str
    entry: str
    last_fetched_ms: int | None
    next_due_ms: int


_ROWS = select(*(_W[name] for name in WatchedQuery._fields))


def load_active(engine: Engine) -> list[WatchedQuery]:
    """Return the queries that are fetched, in the order of the list."""
    rows = db.fetch(engine, _ROWS.where(_W.active).order_by(_W.position))
    return [WatchedQuery(*row) for row in rows]


def find(engine: Engine, query_id: str) -> WatchedQuery | None:
    """Return one query, also if it has left the list; None if it never was on it."""
    rows = db.fetch(engine, _ROWS.where(_W.query_id == query_id))
    return WatchedQuery(*rows[0]) if rows else None


def version(engine: Engine) -> tuple[int, int]:
    """Return two numbers that differ from those before wherever the active list does."""
    listed = select(func.count(), func.coalesce(func.max(_W.updated_ms), 0)).where(_W.active)
    ((count, latest),) = db.fetch(engine, listed)
    return int(count), int(latest)


def replace_all(engine: Engine, entries: Sequence[tuple[str, str]], now_ms: int) -> None:
    """Make these (query id, entry) pairs the whole list, in this order, in one transaction.

    A query whose entry is the same text keeps its fetch times; a changed or new one is due at
    once, and a fetch of it that is under way no longer counts. A query that is missing becomes
    inactive: it keeps its times for its return, until it is forgotten. ValueError when an id
    comes twice.
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
    """Take the right to fetch a query, which was loaded with `next_due_ms == due_ms`.

    Of several collectors that loaded the same, one gets True. The query is then not due before
    `now_ms + lease_ms`; a collector that dies gives it up by that alone, so the lease must be
    longer than a fetch. False also when the query left the list. ValueError when it is not due.
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
    """End a claim: the query was fetched at `fetched_ms` (None: not) and is due at `next_due_ms`.

    `claimed_until_ms` is the `now_ms + lease_ms` of the claim. False, with nothing written, when
    the claim no longer holds: it ran out and another collector took the query, or the entry was
    changed meanwhile, so that the query is due under its new wording.
    """
    times = {"next_due_ms": next_due_ms}
    if fetched_ms is not None:
        times["last_fetched_ms"] = fetched_ms
    mine = (_W.query_id == query_id, _W.next_due_ms == claimed_until_ms)
    return db.write(engine, update(WATCHLIST).where(*mine).values(times)) == 1


def spend_credit(engine: Engine, period: str, amount: int, budget: int) -> bool:
    """Count `amount` more credits in a period (such as "2025-03"), unless that passes `budget`.

    True when they were counted. Never passes the budget, however many processes spend at once;
    call it before the request that costs. ValueError when `amount` is not positive.
    """
    if amount < 1:
        raise ValueError(f"amount must be positive, got {amount}")
    if amount > budget:
        return False
    row, used = {"period": period, "used": amount}, SEARCH_CREDITS.c.used + amount
    return db.put(engine, SEARCH_CREDITS, row, changed={"used": used}, only_if=used <= budget) == 1


def credits_used(engine: Engine, period: str) -> int:
    """Return the credits counted in a period so far."""
    counted = select(SEARCH_CREDITS.c.used).where(SEARCH_CREDITS.c.period == period)
    return db.fetch_value(engine, counted) or 0
