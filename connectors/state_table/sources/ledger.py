"""The ledger of sources: what speaks for and against a domain, since when, about what.

Counts are in `source_ledger`, what they are made of in `source_events`. Whoever writes takes the
domain's row first, domains in alphabetical order, so that writers wait for each other and never
in a circle.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import asdict
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, bindparam, delete, func, select, update

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    INCIDENTS,
    SOURCE_EVENTS,
    SOURCE_LEDGER,
)
from radarstream.schemas.sources import (
    CLAIM_CHARACTERS,
    DAY_MS,
    NAME_CHARACTERS,
    Counts,
    EventKind,
    LedgerRules,
    SourceEvent,
    SourceVerdict,
    Standing,
)

LEDGER, EVENTS = SOURCE_LEDGER.c, SOURCE_EVENTS.c
DISHONEST: Final = (EventKind.CONFIRMED, EventKind.DETECTED)
DEFAULT: Final = LedgerRules()
KEPT_DAYS: Final = 32  # of agreement: as long as the cap of a day needs what it let pass
LATEST_MS: Final = select(func.coalesce(func.max(LEDGER.updated_ms), 0))


def record(
    connection: Connection, events: Sequence[SourceEvent], rules: LedgerRules = DEFAULT
) -> int:
    """Count events against their domains in the caller's transaction; return how many counted.

    An event counts once per domain, however many of its texts are named and however often it is
    recorded; its stronger kind wins, so that a confirmation adds what a detection lacked. What was
    retracted counts again if it is confirmed, never because it is detected. Events without a domain
    are passed over. Beyond a day's cap an event is kept with what was left of it, perhaps 0.
    ValueError for a kind that is not against.
    """
    if wrong := {e.kind for e in events} - {*DISHONEST}:
        raise ValueError(f"not evidence against a source: {', '.join(sorted(wrong))}")
    known = sorted((e for e in events if e.domain), key=lambda e: (e.domain, e.at_ms, e.event))
    held = hold(connection, [event.domain for event in known])
    counted = sum(_count(connection, held, event, rules) for event in known)
    write_counts(connection, held)
    return counted


def retract(
    connection: Connection,
    events: Sequence[str],
    rules: LedgerRules = DEFAULT,
    *,
    domains: Set[str] | None = None,
) -> int:
    """Take events back, from all their domains or from these alone; return how many rows.

    What a day's cap had kept others from counting is not counted after all.
    """
    digests = [_digest(event) for event in events]
    statement = select(EVENTS.domain).where(
        EVENTS.event.in_(digests), EVENTS.kind != EventKind.RETRACTED
    )
    found = set(connection.execute(statement.distinct()).scalars())
    held = hold(connection, found if domains is None else found & domains)
    retracted = sum(
        _take_back(connection, held, domain, digest, rules) for domain in held for digest in digests
    )
    write_counts(connection, held)
    return retracted


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
        EVENTS.event == _day_name(day), EVENTS.domain.in_(list(held))
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


def standings(connection: Connection, domains: Iterable[str]) -> dict[str, Standing]:
    """What the ledger has of these domains; those it has nothing of are left out."""
    found = {}
    for names in db.chunks(sorted({*domains} - {""})):
        for row in connection.execute(select(SOURCE_LEDGER).where(LEDGER.domain.in_(names))):
            found[row.domain] = standing_of(row)
    return found


def judge(
    connection: Connection, domain: str, verdict: SourceVerdict | None, note: str | None
) -> None:
    """Set a person's decision about a domain; None leaves it to the evidence again."""
    hold(connection, [domain])
    decided = {"verdict": verdict, "note": note, "revision": LEDGER.revision + 1}
    connection.execute(update(SOURCE_LEDGER).where(LEDGER.domain == domain).values(decided))


def prune_events(engine: Engine, *, days: float, now_ms: int) -> int:
    """Delete events so long before the newest that the ledger knows; return how many.

    Counts and a person's words stay. So do the events of a wrong answer that is on record: settled
    again, it would count again. A newest time in the future of `now_ms` counts as `now_ms`.
    """
    settled = select(INCIDENTS.c.incident).where(
        INCIDENTS.c.query_id == EVENTS.query_id, INCIDENTS.c.step == EVENTS.step
    )

    def prune(connection: Connection) -> int:
        as_of = min(int(connection.execute(LATEST_MS).scalar_one()), now_ms)
        old = EVENTS.at_ms < as_of - int(days * DAY_MS)
        return connection.execute(delete(SOURCE_EVENTS).where(old, ~settled.exists())).rowcount

    return db.in_transaction(engine, prune)


def standing_of(row: Row[Any]) -> Standing:
    """Return a row of the ledger as a value."""
    return Standing(
        domain=row.domain,
        counts=Counts(row.honest, row.dishonest, row.updated_ms),
        verdict=SourceVerdict(row.verdict) if row.verdict in tuple(SourceVerdict) else None,
        note=row.note,
    )


def hold(connection: Connection, domains: Iterable[str]) -> dict[str, Counts]:
    """Take the domains' rows, made where there are none; return their counts in order of names."""
    names = sorted({*domains} - {""})
    if not names:
        return {}
    zeros = {"honest": 0.0, "dishonest": 0.0, "updated_ms": 0, "revision": 0}
    fresh = [{"domain": name, **zeros} for name in names]
    # Written first: on SQLite it is a write that takes the lock, a read would be outdated by then.
    db.insert_new(connection, SOURCE_LEDGER, fresh)
    rows = select(SOURCE_LEDGER).where(LEDGER.domain.in_(names)).order_by(LEDGER.domain)
    found = connection.execute(rows.with_for_update())
    return {row.domain: standing_of(row).counts for row in found}


def write_counts(connection: Connection, held: dict[str, Counts]) -> None:
    """Write the counts of rows that `hold` took."""
    if held:
        named = update(SOURCE_LEDGER).where(LEDGER.domain == bindparam("name"))
        rows = [
            {
                "name": name,
                "honest": counts.honest,
                "dishonest": counts.dishonest,
                "updated_ms": counts.as_of_ms,
            }
            for name, counts in held.items()
        ]
        connection.execute(named.values(revision=LEDGER.revision + 1), rows)


def _count(
    connection: Connection, held: dict[str, Counts], event: SourceEvent, rules: LedgerRules
) -> int:
    domain, digest, weight = event.domain, _digest(event.event), rules.weight(event.kind)
    before = _event(connection, domain, digest)
    confirms = event.kind is EventKind.CONFIRMED
    if before is not None and (before.kind == EventKind.CONFIRMED or not confirms):
        return 0
    at_ms = event.at_ms if before is None else before.at_ms
    left = max(0.0, rules.dishonest_per_day - _blame_of_day(connection, domain, at_ms))
    if before is None:
        added = min(weight, left)
        row = _row(event, digest, added)
        connection.execute(SOURCE_EVENTS.insert().values(**row))
    else:
        added = min(max(0.0, weight - before.weight), left)
        _rewrite(connection, domain, digest, kind=event.kind, weight=before.weight + added)
    held[domain] = held[domain].plus(at_ms, rules.half_life_days, dishonest=added)
    return 1


def _take_back(
    connection: Connection, held: dict[str, Counts], domain: str, digest: str, rules: LedgerRules
) -> int:
    before = _event(connection, domain, digest)
    if before is None or before.kind == EventKind.RETRACTED:
        return 0
    half_life, taken = rules.half_life_days, -before.weight
    held[domain] = held[domain].plus(before.at_ms, half_life, dishonest=taken)
    _rewrite(connection, domain, digest, kind=EventKind.RETRACTED, weight=0.0)
    return 1


def _blame_of_day(connection: Connection, domain: str, at_ms: int) -> float:
    start = at_ms // DAY_MS * DAY_MS
    statement = select(func.coalesce(func.sum(EVENTS.weight), 0.0)).where(
        EVENTS.domain == domain,
        EVENTS.kind.in_(DISHONEST),
        EVENTS.at_ms >= start,
        EVENTS.at_ms < start + DAY_MS,
    )
    return float(connection.execute(statement).scalar_one())


def _event(connection: Connection, domain: str, digest: str) -> Row[str, float, int] | None:
    known = select(EVENTS.kind, EVENTS.weight, EVENTS.at_ms).where(
        EVENTS.domain == domain, EVENTS.event == digest
    )
    return connection.execute(known).one_or_none()


def _rewrite(connection: Connection, domain: str, digest: str, **values: object) -> None:
    known = update(SOURCE_EVENTS).where(EVENTS.domain == domain, EVENTS.event == digest)
    connection.execute(known.values(**values))


def _row(event: SourceEvent, digest: str, weight: float) -> dict[str, object]:
    return asdict(event) | {
        "event": digest,
        "weight": weight,
        "text_id": _short(event.text_id, NAME_CHARACTERS),
        "claim": _short(event.claim, CLAIM_CHARACTERS),
    }


def _short(text: str | None, limit: int) -> str | None:
    return None if text is None else text.replace("\0", "")[:limit]


def _digest(event: str) -> str:
    """Tell events apart without their names, which may hold the id of a query to be forgotten."""
    return sha256(event.encode()).hexdigest()[:32]


def _write_day(connection: Connection, totals: Mapping[str, float], day: int) -> None:
    """Write the day's row of each domain, and drop those that no cap needs any more."""
    same = {"event": _day_name(day), "kind": EventKind.AGREEMENT, "at_ms": day * DAY_MS}
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


def _day_name(day: int) -> str:
    return f"day {day}"
