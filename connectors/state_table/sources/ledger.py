"""The ledger of sources: what speaks for and against a domain, since when, about what.

Counts are in `source_ledger`, what they are made of in `source_events`. Whoever writes takes the
domain's row first, domains in alphabetical order, so that writers wait for each other and never
in a circle.
"""

from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, delete, func, select, update

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.database.tables import (
    INCIDENTS,
    SOURCE_EVENTS,
    SOURCE_LEDGER,
    dialect_insert,
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

KEYS_PER_SELECT: Final = 500
LEDGER, EVENTS = SOURCE_LEDGER.c, SOURCE_EVENTS.c
DISHONEST: Final = (EventKind.CONFIRMED, EventKind.DETECTED)
DEFAULT: Final = LedgerRules()


@dataclass
class Entry:
    """A domain's row of the ledger while its writer holds it."""

    connection: Connection
    domain: str
    counts: Counts


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
    counted = 0
    known = sorted((e for e in events if e.domain), key=lambda e: (e.domain, e.at_ms, e.event))
    for domain, of_domain in groupby(known, key=lambda e: e.domain):
        with _holding(connection, domain) as entry:
            counted += sum(_count(entry, event, rules) for event in of_domain)
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
    statement = (
        select(EVENTS.domain)
        .where(EVENTS.event.in_(digests), EVENTS.kind != EventKind.RETRACTED)
        .distinct()
        .order_by(EVENTS.domain)
    )
    retracted = 0
    for domain in connection.execute(statement).scalars().all():
        if domains is not None and domain not in domains:
            continue
        with _holding(connection, domain) as entry:
            for digest in digests:
                retracted += _take_back(entry, digest, rules)
    return retracted


def standings(connection: Connection, domains: Sequence[str]) -> dict[str, Standing]:
    """What the ledger has of these domains; those it has nothing of are left out."""
    wanted = sorted({*domains} - {""})
    found = {}
    for start in range(0, len(wanted), KEYS_PER_SELECT):
        chunk = wanted[start : start + KEYS_PER_SELECT]
        for row in connection.execute(select(SOURCE_LEDGER).where(LEDGER.domain.in_(chunk))):
            found[row.domain] = standing_of(row)
    return found


def words_on(connection: Connection, domains: Sequence[str]) -> dict[str, SourceVerdict]:
    """What a person said about these domains; those without a decision are left out."""
    wanted = sorted({*domains} - {""})
    found = {}
    for start in range(0, len(wanted), KEYS_PER_SELECT):
        chunk = wanted[start : start + KEYS_PER_SELECT]
        statement = select(LEDGER.domain, LEDGER.verdict).where(
            LEDGER.domain.in_(chunk), LEDGER.verdict.is_not(None)
        )
        rows = connection.execute(statement)
        found.update({domain: SourceVerdict(verdict) for domain, verdict in rows})
    return found


def judge(
    connection: Connection, domain: str, verdict: SourceVerdict | None, note: str | None
) -> None:
    """Set a person's decision about a domain; None leaves it to the evidence again."""
    with _holding(connection, domain):
        connection.execute(
            update(SOURCE_LEDGER).where(LEDGER.domain == domain).values(verdict=verdict, note=note)
        )


def prune_events(engine: Engine, *, days: float, now_ms: int) -> int:
    """Delete events so long before the newest that the ledger knows; return how many.

    Counts and a person's words stay. So do the events of a wrong answer that is on record: settled
    again, it would count again. A newest time in the future of `now_ms` counts as `now_ms`.
    """
    newest = select(func.coalesce(func.max(LEDGER.updated_ms), 0))
    settled = select(INCIDENTS.c.incident).where(
        INCIDENTS.c.query_id == EVENTS.query_id, INCIDENTS.c.step == EVENTS.step
    )

    def work() -> int:
        with engine.begin() as connection:
            as_of = min(int(connection.execute(newest).scalar_one()), now_ms)
            old = EVENTS.at_ms < as_of - int(days * DAY_MS)
            return connection.execute(delete(SOURCE_EVENTS).where(old, ~settled.exists())).rowcount

    return retry_contended(work)


def standing_of(row: Row[Any]) -> Standing:
    """Return a row of the ledger as a value."""
    return Standing(
        domain=row.domain,
        counts=Counts(row.honest, row.dishonest, row.updated_ms),
        verdict=SourceVerdict(row.verdict) if row.verdict in tuple(SourceVerdict) else None,
        note=row.note,
    )


@contextmanager
def _holding(connection: Connection, domain: str) -> Iterator[Entry]:
    """Take the domain's row, made if there is none, and write its counts back at the end."""
    fresh = {"domain": domain, "honest": 0.0, "dishonest": 0.0, "updated_ms": 0}
    # Written first: on SQLite it is a write that takes the lock, a read would be outdated by then.
    connection.execute(dialect_insert(connection, SOURCE_LEDGER).on_conflict_do_nothing(), fresh)
    statement = select(SOURCE_LEDGER).where(LEDGER.domain == domain).with_for_update()
    entry = Entry(connection, domain, standing_of(connection.execute(statement).one()).counts)
    yield entry
    counts = entry.counts
    connection.execute(
        update(SOURCE_LEDGER)
        .where(LEDGER.domain == domain)
        .values(
            honest=counts.honest,
            dishonest=counts.dishonest,
            updated_ms=counts.as_of_ms,
            revision=LEDGER.revision + 1,
        )
    )


def _count(entry: Entry, event: SourceEvent, rules: LedgerRules) -> int:
    digest, weight = _digest(event.event), rules.weight(event.kind)
    before = _event(entry, digest)
    if before is None:
        allowed = min(weight, _left(entry, event.at_ms, rules.dishonest_per_day, DISHONEST))
        entry.counts = entry.counts.plus(event.at_ms, rules.half_life_days, dishonest=allowed)
        entry.connection.execute(SOURCE_EVENTS.insert().values(**_columns(event, digest, allowed)))
        return 1
    if before.kind == EventKind.CONFIRMED or event.kind is not EventKind.CONFIRMED:
        return 0
    left = _left(entry, before.at_ms, rules.dishonest_per_day, DISHONEST)
    more = min(max(0.0, weight - before.weight), left)
    entry.counts = entry.counts.plus(before.at_ms, rules.half_life_days, dishonest=more)
    _rewrite(entry, digest, kind=event.kind, weight=before.weight + more)
    return 1


def _take_back(entry: Entry, digest: str, rules: LedgerRules) -> int:
    before = _event(entry, digest)
    if before is None or before.kind == EventKind.RETRACTED:
        return 0
    entry.counts = entry.counts.plus(before.at_ms, rules.half_life_days, dishonest=-before.weight)
    _rewrite(entry, digest, kind=EventKind.RETRACTED, weight=0.0)
    return 1


def _left(entry: Entry, at_ms: int, cap: float, kinds: Sequence[EventKind]) -> float:
    """What the event's day may still add to the domain."""
    start = at_ms // DAY_MS * DAY_MS
    spent = entry.connection.execute(
        select(func.coalesce(func.sum(EVENTS.weight), 0.0)).where(
            EVENTS.domain == entry.domain,
            EVENTS.kind.in_(kinds),
            EVENTS.at_ms >= start,
            EVENTS.at_ms < start + DAY_MS,
        )
    ).scalar_one()
    return max(0.0, cap - float(spent))


def _event(entry: Entry, digest: str) -> Row[str, float, int] | None:
    statement = select(EVENTS.kind, EVENTS.weight, EVENTS.at_ms).where(
        EVENTS.domain == entry.domain, EVENTS.event == digest
    )
    return entry.connection.execute(statement).one_or_none()


def _rewrite(entry: Entry, digest: str, **values: object) -> None:
    entry.connection.execute(
        update(SOURCE_EVENTS)
        .where(EVENTS.domain == entry.domain, EVENTS.event == digest)
        .values(**values)
    )


def _columns(event: SourceEvent, digest: str, weight: float) -> dict[str, object]:
    return {
        "domain": event.domain,
        "event": digest,
        "kind": event.kind,
        "weight": weight,
        "at_ms": event.at_ms,
        "query_id": event.query_id,
        "step": event.step,
        "text_id": _short(event.text_id, NAME_CHARACTERS),
        "claim": _short(event.claim, CLAIM_CHARACTERS),
    }


def _short(text: str | None, limit: int) -> str | None:
    return None if text is None else text.replace("\0", "")[:limit]


def _digest(event: str) -> str:
    """Tell events apart without their names, which may hold the id of a query to be forgotten."""
    return sha256(event.encode()).hexdigest()[:32]
