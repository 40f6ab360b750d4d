"""Evidence for sources in the ledger: they supported answers that were borne out."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, delete, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import SOURCE_EVENTS
from radarstream.connectors.state_table.sources.ledger import DEFAULT, EVENTS, hold, write_counts
from radarstream.schemas.sources import DAY_MS, EventKind, LedgerRules

KEPT_DAYS: Final = 32  # of agreement: as long as the cap of a day needs to know what it let pass


def agree(
    connection: Connection, domains: Sequence[str], at_ms: int, rules: LedgerRules = DEFAULT
) -> None:
    """Count, once for each domain, that it supported an answer which was borne out at `at_ms`.

    Nothing tells a repetition: call it in a transaction that happens once, such as a fold's. Six
    statements, however many domains; a fold waits for them.
    """
    held = hold(connection, domains)
    if not held:
        return
    day = at_ms // DAY_MS
    known = select(EVENTS.domain, EVENTS.weight).where(
        EVENTS.event == _name(day), EVENTS.domain.in_(list(held))
    )
    spent = dict.fromkeys(held, 0.0) | dict(connection.execute(known).all())
    allowed = {
        name: min(rules.agreement, rules.honest_per_day - weight) for name, weight in spent.items()
    }
    grown = {
        name: held[name].plus(at_ms, rules.half_life_days, honest=weight)
        for name, weight in allowed.items()
        if weight > 0.0
    }
    if grown:
        write_counts(connection, grown)
        _write_day(connection, {name: spent[name] + allowed[name] for name in grown}, day)


def _write_day(connection: Connection, totals: Mapping[str, float], day: int) -> None:
    """Write the day's row of each domain, and drop those that no cap needs any more."""
    same = {"event": _name(day), "kind": EventKind.AGREEMENT, "at_ms": day * DAY_MS}
    rows = [{"domain": name, "weight": weight, **same} for name, weight in totals.items()]
    changed = {"weight": db.excluded(SOURCE_EVENTS).weight}
    db.upsert(connection, SOURCE_EVENTS, rows, changed=changed)
    connection.execute(
        delete(SOURCE_EVENTS).where(
            EVENTS.domain.in_(list(totals)),
            EVENTS.kind == EventKind.AGREEMENT,
            EVENTS.at_ms < (day - KEPT_DAYS) * DAY_MS,
        )
    )


def _name(day: int) -> str:
    return f"day {day}"
