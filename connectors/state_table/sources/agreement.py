"""Evidence for sources in the ledger: they supported answers that were borne out."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, delete, select, update

from radarstream.connectors.state_table.database.tables import (
    SOURCE_EVENTS,
    SOURCE_LEDGER,
    dialect_insert,
)
from radarstream.connectors.state_table.sources.ledger import DEFAULT, EVENTS, LEDGER, standing_of
from radarstream.schemas.sources import DAY_MS, EventKind, LedgerRules, Standing

KEPT_DAYS: Final = 32  # of agreement: as long as the cap of a day needs to know what it let pass


def agree(
    connection: Connection, domains: Sequence[str], at_ms: int, rules: LedgerRules = DEFAULT
) -> None:
    """Count, once for each domain, that it supported an answer which was borne out at `at_ms`.

    Nothing tells a repetition: call it in a transaction that happens once, such as a fold's. Six
    statements, however many domains; a fold waits for them.
    """
    names = sorted({*domains} - {""})
    if not names:
        return
    held = _held(connection, names)
    day = at_ms // DAY_MS
    spent = _spent(connection, names, day)
    allowed = {
        name: min(rules.agreement, rules.honest_per_day - spent.get(name, 0.0)) for name in names
    }
    allowed = {name: weight for name, weight in allowed.items() if weight > 0.0}
    if not allowed:
        return
    _add(connection, held, allowed, at_ms, rules)
    totals = {name: spent.get(name, 0.0) + weight for name, weight in allowed.items()}
    _write_day(connection, totals, day)


def _held(connection: Connection, names: Sequence[str]) -> dict[str, Standing]:
    """Take the domains' rows, in alphabetical order, made where there are none."""
    fresh = [{"domain": n, "honest": 0.0, "dishonest": 0.0, "updated_ms": 0} for n in names]
    # Written first: on SQLite it is a write that takes the lock, a read would be outdated by then.
    connection.execute(dialect_insert(connection, SOURCE_LEDGER).on_conflict_do_nothing(), fresh)
    rows = connection.execute(
        select(SOURCE_LEDGER)
        .where(LEDGER.domain.in_(names))
        .order_by(LEDGER.domain)
        .with_for_update()
    )
    return {row.domain: standing_of(row) for row in rows}


def _spent(connection: Connection, names: Sequence[str], day: int) -> dict[str, float]:
    """What the day has already added to each domain."""
    statement = select(EVENTS.domain, EVENTS.weight).where(
        EVENTS.event == _name(day), EVENTS.domain.in_(names)
    )
    return {row.domain: row.weight for row in connection.execute(statement)}


def _add(
    connection: Connection,
    held: Mapping[str, Standing],
    allowed: Mapping[str, float],
    at_ms: int,
    rules: LedgerRules,
) -> None:
    grown = {
        name: held[name].counts.plus(at_ms, rules.half_life_days, honest=weight)
        for name, weight in allowed.items()
    }
    connection.execute(
        update(SOURCE_LEDGER)
        .where(LEDGER.domain == bindparam("name"))
        .values(
            honest=bindparam("for_it"),
            dishonest=bindparam("against_it"),
            updated_ms=bindparam("as_of_ms"),
            revision=LEDGER.revision + 1,
        ),
        [
            {
                "name": name,
                "for_it": counts.honest,
                "against_it": counts.dishonest,
                "as_of_ms": counts.as_of_ms,
            }
            for name, counts in grown.items()
        ],
    )


def _write_day(connection: Connection, totals: Mapping[str, float], day: int) -> None:
    """Write the day's row of each domain, and drop those that no cap needs any more."""
    insert = dialect_insert(connection, SOURCE_EVENTS)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["domain", "event"], set_={"weight": insert.excluded.weight}
        ),
        [
            {
                "domain": name,
                "event": _name(day),
                "kind": EventKind.AGREEMENT,
                "weight": weight,
                "at_ms": day * DAY_MS,
            }
            for name, weight in totals.items()
        ],
    )
    connection.execute(
        delete(SOURCE_EVENTS).where(
            EVENTS.domain.in_(list(totals)),
            EVENTS.kind == EventKind.AGREEMENT,
            EVENTS.at_ms < (day - KEPT_DAYS) * DAY_MS,
        )
    )


def _name(day: int) -> str:
    return f"day {day}"
