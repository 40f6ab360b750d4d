"""The ledger of sources for whoever looks into it: who is blamed, since when, for what."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, case, func, select

from radarstream.connectors.state_table.database.tables import SOURCE_LEDGER
from radarstream.connectors.state_table.sources.ledger import (
    DISHONEST,
    EVENTS,
    LATEST_MS,
    LEDGER,
    standing_of,
)
from radarstream.schemas.sources import EventKind, Standing

CLAIMS: Final = 5  # that are shown of a domain, newest first


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """A domain and its blame: `events` that count against it, the first and the last of them (ms),
    and what they claimed, newest first, each once.
    """

    standing: Standing
    events: int
    first_ms: int | None
    last_ms: int | None
    claims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One row of what is known; for agreement all of a UTC day. What was forgotten is None."""

    kind: EventKind
    weight: float
    at_ms: int
    query_id: str | None
    step: int | None
    text_id: str | None
    claim: str | None


def count_sources(connection: Connection) -> int:
    """Return how many domains the ledger has."""
    return connection.execute(select(func.count()).select_from(SOURCE_LEDGER)).scalar_one()


def latest_ms(connection: Connection) -> int:
    """Return the event time that the ledger has got to; 0 if it is empty."""
    return int(connection.execute(LATEST_MS).scalar_one())


def summaries(connection: Connection, limit: int) -> list[SourceSummary]:
    """Return blocked domains first, then by dishonest evidence, most first."""
    blocked = case((LEDGER.verdict == "blocked", 0), else_=1)
    statement = (
        select(SOURCE_LEDGER).order_by(blocked, LEDGER.dishonest.desc(), LEDGER.domain).limit(limit)
    )
    found = [standing_of(row) for row in connection.execute(statement)]
    return [_summary(connection, standing) for standing in found]


def summary_of(connection: Connection, domain: str) -> SourceSummary | None:
    """Return one domain, None if the ledger does not have it."""
    row = connection.execute(select(SOURCE_LEDGER).where(LEDGER.domain == domain)).one_or_none()
    return None if row is None else _summary(connection, standing_of(row))


def history(connection: Connection, domain: str, limit: int) -> list[SourceRecord]:
    """Return what is known of a domain, newest first."""
    columns = (EVENTS.kind, EVENTS.weight, EVENTS.at_ms, EVENTS.query_id, EVENTS.step)
    statement = (
        select(*columns, EVENTS.text_id, EVENTS.claim)
        .where(EVENTS.domain == domain)
        .order_by(EVENTS.at_ms.desc(), EVENTS.event)
        .limit(limit)
    )
    rows = connection.execute(statement)
    return [SourceRecord(EventKind(kind), *rest) for kind, *rest in rows]


def _summary(connection: Connection, standing: Standing) -> SourceSummary:
    against = (EVENTS.domain == standing.domain, EVENTS.kind.in_(DISHONEST))
    counted = select(func.count(), func.min(EVENTS.at_ms), func.max(EVENTS.at_ms)).where(*against)
    claimed = (
        select(EVENTS.claim)
        .where(*against, EVENTS.claim.is_not(None))
        .group_by(EVENTS.claim)
        .order_by(func.max(EVENTS.at_ms).desc(), EVENTS.claim)
        .limit(CLAIMS)
    )
    claims = tuple(claim for (claim,) in connection.execute(claimed) if claim is not None)
    events, first_ms, last_ms = connection.execute(counted).one()
    return SourceSummary(standing, events, first_ms, last_ms, claims)
