"""Stored complaints about answers, until and after their attribution.

Callers pass the times, in milliseconds since 1970-01-01 UTC.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, case, delete, func, or_, select, update

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    COMPLAINTS,
    INCIDENTS,
    KEPT_ANSWERS,
    QUARANTINE,
)
from radarstream.connectors.state_table.incidents.quarantine import holding
from radarstream.schemas.incidents import ComplaintState, Decision

_C, _I = COMPLAINTS.c, INCIDENTS.c
_ROWS = select(*_C)
_OPEN = _C.state == ComplaintState.OPEN


@dataclass(frozen=True, slots=True)
class StoredComplaint:
    """A complaint as stored, with step and answer filled in. The fields are those of the table."""

    complaint_id: str
    incident: str
    query_id: str
    step: int
    answer: str
    sender: str
    sent_ms: int
    received_ms: int
    comment: str = ""
    state: ComplaintState = ComplaintState.OPEN
    attempts: int = 0
    detail: str = ""


def repeated(connection: Connection, complaint: StoredComplaint) -> StoredComplaint | None:
    """Return the stored complaint that this one repeats: itself, or its sender's on the answer."""
    itself = _C.complaint_id == complaint.complaint_id
    alike = (_C.incident == complaint.incident) & (_C.sender == complaint.sender)
    own_first = _ROWS.where(or_(itself, alike)).order_by(case((itself, 0), else_=1))
    row = connection.execute(own_first.limit(1)).mappings().first()
    return complaint_of(row) if row else None


def insert(connection: Connection, complaint: StoredComplaint) -> bool:
    """Store a complaint in the caller's transaction; False if it was stored before."""
    return db.insert_new(connection, COMPLAINTS, asdict(complaint)) == 1


def received_since(connection: Connection, sender: str, since_ms: int) -> int:
    """Count the complaints of a sender received since a time."""
    return _count(connection, _C.sender == sender, _C.received_ms >= since_ms)


def count_open(connection: Connection, sender: str | None = None) -> int:
    """Count the open complaints of all senders or of one."""
    whose = () if sender is None else (_C.sender == sender,)
    return _count(connection, _OPEN, *whose)


def find_complaints(
    engine: Engine, limit: int = 100, incident: str | None = None
) -> list[dict[str, Any]]:
    """Return the newest complaints, of one incident or all, with its status and decision."""
    statement = (
        _ROWS.add_columns(_I.status, _I.finding, _I.decision)
        .outerjoin(INCIDENTS, _I.incident == _C.incident)
        .order_by(_C.received_ms.desc(), _C.complaint_id)
        .limit(limit)
    )
    if incident is not None:
        statement = statement.where(_C.incident == incident)
    return [row._asdict() for row in db.fetch(engine, statement)]


def waiting(connection: Connection, incident: str) -> list[StoredComplaint]:
    """Return the open complaints of an incident, oldest first."""
    statement = _ROWS.where(_C.incident == incident, _OPEN).order_by(_C.received_ms)
    return [complaint_of(row) for row in connection.execute(statement).mappings()]


def close(
    connection: Connection,
    incident: str,
    state: ComplaintState,
    detail: str = "",
    seen: Sequence[StoredComplaint] | None = None,
) -> None:
    """Set the state of the open complaints of an incident, with `seen` only of these."""
    statement = update(COMPLAINTS).where(_C.incident == incident, _OPEN)
    if seen is not None:
        statement = statement.where(_C.complaint_id.in_([one.complaint_id for one in seen]))
    connection.execute(statement.values(state=state, detail=detail))


def reopen(connection: Connection, incident: str) -> None:
    """Set the complaints of an incident to open again."""
    again = {"state": ComplaintState.OPEN, "detail": "", "attempts": 0}
    connection.execute(update(COMPLAINTS).where(_C.incident == incident).values(again))


def note_failure(engine: Engine, complaint: StoredComplaint, detail: str, *, attempts: int) -> None:
    """Count a failed attempt; after `attempts` of them the complaint is unusable."""
    failed = complaint.attempts + 1
    state = ComplaintState.UNUSABLE if failed >= attempts else ComplaintState.OPEN

    counted = update(COMPLAINTS).where(_C.incident == complaint.incident, _OPEN)
    db.write(engine, counted.values(attempts=failed, state=state, detail=detail))


def expire(engine: Engine, before_ms: int, detail: str) -> int:
    """Make open complaints received before a time unusable, unless a person approved their
    incident; return how many.
    """
    approved = select(_I.incident).where(_I.decision == Decision.APPROVED)
    old = (_OPEN, _C.received_ms < before_ms, _C.incident.not_in(approved))
    given_up = {"state": ComplaintState.UNUSABLE, "detail": detail}
    return db.write(engine, update(COMPLAINTS).where(*old).values(given_up))


def prune_complaints(engine: Engine, before_ms: int) -> int:
    """Delete complaints attributed, or else received, before a time, and their incidents.

    Open ones, and those with a text in quarantine, stay.
    """
    attributed = select(_I.attributed_ms).where(_I.incident == _C.incident)
    since = func.coalesce(attributed.scalar_subquery(), _C.received_ms)
    old = (since < before_ms, _C.state != ComplaintState.OPEN, ~holding(_C.incident))
    orphans = _I.incident.not_in(select(_C.incident))
    with engine.begin() as connection:
        deleted = connection.execute(delete(COMPLAINTS).where(*old)).rowcount
        connection.execute(delete(INCIDENTS).where(orphans, ~holding(_I.incident)))
        gone = QUARANTINE.c.incident.not_in(select(_I.incident))
        connection.execute(delete(QUARANTINE).where(gone, ~QUARANTINE.c.active))
    return deleted


def counts(engine: Engine) -> tuple[dict[str, int], dict[str, int]]:
    """Count complaints by state, and incidents by status."""
    states = db.fetch(engine, select(_C.state, func.count()).group_by(_C.state))
    decided = select(_I.status, func.count()).where(_I.status.is_not(None)).group_by(_I.status)
    statuses = db.fetch(engine, decided)
    return {row[0]: row[1] for row in states}, {row[0]: row[1] for row in statuses}


def complaint_of(row: Any) -> StoredComplaint:
    """Read a complaint from a row, which may have more columns."""
    values = {column.name: row[column.name] for column in _C}
    known = values["state"] in tuple(ComplaintState)
    state = ComplaintState(values["state"]) if known else ComplaintState.UNUSABLE
    return StoredComplaint(**(values | {"state": state}))


def next_open(
    engine: Engine,
    *,
    day_ago_ms: int,
    trusted: Collection[str] = (),
    only_urgent: bool = False,
    only_known: bool = False,
) -> StoredComplaint | None:
    """Return the next complaint to attribute; None if none is open.

    Incidents that a person approved come first. Then senders take turns: a sender's first complaint
    comes before every second one, counting those attributed since `day_ago_ms`. Within a turn,
    `trusted` senders come first, then complaints about a query's latest answer, then the order of
    arrival. `only_urgent`: only those approved by a person or sent by a trusted sender.
    `only_known`: only incidents attributed before, which cost no model call.
    """
    latest = (
        select(func.max(KEPT_ANSWERS.c.step))
        .where(KEPT_ANSWERS.c.query_id == _C.query_id)
        .scalar_subquery()
    )
    approved = case((_I.decision == Decision.APPROVED, 0), else_=1)
    urgency = (case((_C.step == latest, 0), else_=1), _C.attempts, _C.received_ms, _C.complaint_id)
    place = func.row_number().over(partition_by=_C.sender, order_by=(approved, *urgency))
    statement = (
        _ROWS.outerjoin(INCIDENTS, _I.incident == _C.incident)
        .where(_OPEN)
        .order_by(
            approved,
            place + _served(day_ago_ms),
            case((_C.sender.in_(trusted), 0), else_=1),
            *urgency,
        )
        .limit(1)
    )
    if only_known:
        statement = statement.where(_I.finding.is_not(None))
    elif only_urgent:
        urgent = or_(_I.decision == Decision.APPROVED, _C.sender.in_(trusted))
        statement = statement.where(urgent)
    rows = db.fetch(engine, statement)
    return complaint_of(rows[0]._mapping) if rows else None


def _served(since_ms: int) -> ColumnElement[int]:
    """Count the complaints of the row's sender about incidents attributed since a time."""
    other, incident = COMPLAINTS.alias(), INCIDENTS.alias()
    return (
        select(func.count())
        .select_from(other.join(incident, incident.c.incident == other.c.incident))
        .where(other.c.sender == _C.sender, incident.c.attributed_ms >= since_ms)
        .correlate(COMPLAINTS)
        .scalar_subquery()
    )


def _count(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    statement = select(func.count()).select_from(COMPLAINTS).where(*conditions)
    return connection.execute(statement).scalar_one()
