"""Complaints about answers: stored within limits, then waiting for their attribution.

Times are milliseconds since 1970-01-01 UTC and come from the caller; nothing here looks at a clock.
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
    """The complaint that this one repeats, if any: its own, or its sender's on the same answer."""
    itself = _C.complaint_id == complaint.complaint_id
    alike = (_C.incident == complaint.incident) & (_C.sender == complaint.sender)
    own_first = _ROWS.where(or_(itself, alike)).order_by(case((itself, 0), else_=1))
    row = connection.execute(own_first.limit(1)).mappings().first()
    return complaint_of(row) if row else None


def insert(connection: Connection, complaint: StoredComplaint) -> bool:
    """Store a complaint in the caller's transaction; False when it was there already."""
    return db.insert_new(connection, COMPLAINTS, asdict(complaint)) == 1


def received_since(connection: Connection, sender: str, since_ms: int) -> int:
    """How many complaints of a sender were taken in since then."""
    return _count(connection, _C.sender == sender, _C.received_ms >= since_ms)


def count_open(connection: Connection, sender: str | None = None) -> int:
    """How many complaints wait, of all senders or of this one."""
    whose = () if sender is None else (_C.sender == sender,)
    return _count(connection, _OPEN, *whose)


def find_complaints(
    engine: Engine, limit: int = 100, incident: str | None = None
) -> list[dict[str, Any]]:
    """Return the newest complaints, of one incident or all, with status and decision of each."""
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
    """Return the open complaints of one wrong answer, oldest first."""
    statement = _ROWS.where(_C.incident == incident, _OPEN).order_by(_C.received_ms)
    return [complaint_of(row) for row in connection.execute(statement).mappings()]


def close(
    connection: Connection,
    incident: str,
    state: ComplaintState,
    detail: str = "",
    seen: Sequence[StoredComplaint] | None = None,
) -> None:
    """End the wait of the open complaints of one wrong answer; with `seen`, of these alone."""
    statement = update(COMPLAINTS).where(_C.incident == incident, _OPEN)
    if seen is not None:
        statement = statement.where(_C.complaint_id.in_([one.complaint_id for one in seen]))
    connection.execute(statement.values(state=state, detail=detail))


def reopen(connection: Connection, incident: str) -> None:
    """Let the complaints of one wrong answer wait again."""
    again = {"state": ComplaintState.OPEN, "detail": "", "attempts": 0}
    connection.execute(update(COMPLAINTS).where(_C.incident == incident).values(again))


def note_failure(engine: Engine, complaint: StoredComplaint, detail: str, *, attempts: int) -> None:
    """Count a try that failed; after `attempts` of them the complaint is unusable."""
    failed = complaint.attempts + 1
    state = ComplaintState.UNUSABLE if failed >= attempts else ComplaintState.OPEN

    counted = update(COMPLAINTS).where(_C.incident == complaint.incident, _OPEN)
    db.write(engine, counted.values(attempts=failed, state=state, detail=detail))


def expire(engine: Engine, before_ms: int, detail: str) -> int:
    """Give up open complaints that were received before then; return how many.

    What a person has approved goes on waiting.
    """
    approved = select(_I.incident).where(_I.decision == Decision.APPROVED)
    old = (_OPEN, _C.received_ms < before_ms, _C.incident.not_in(approved))
    given_up = {"state": ComplaintState.UNUSABLE, "detail": detail}
    return db.write(engine, update(COMPLAINTS).where(*old).values(given_up))


def prune_complaints(engine: Engine, before_ms: int) -> int:
    """Delete complaints attributed, or else received, before then, and their incidents.

    What is open, or holds a text in quarantine, stays.
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
    """Return how many complaints there are by state, and incidents by status."""
    states = db.fetch(engine, select(_C.state, func.count()).group_by(_C.state))
    decided = select(_I.status, func.count()).where(_I.status.is_not(None)).group_by(_I.status)
    statuses = db.fetch(engine, decided)
    return {row[0]: row[1] for row in states}, {row[0]: row[1] for row in statuses}


def complaint_of(row: Any) -> StoredComplaint:
    """Read a complaint from a row that may have more than it."""
    values = {column.name: row[column.name] for column in _C}
    known = values["state"] in tuple(ComplaintState)  # a damaged one waits for nothing
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
    """Return the complaint to look at next; None when none waits.

    What a person approved comes first. Senders take turns: a sender's first complaint comes before
    everybody's second one. Those attributed since `day_ago_ms` count, so that nobody has many
    firsts. Within a turn, `trusted` senders come first, then the answer that is still the latest of
    its query (it is the one consumers have), then the order of arrival. `only_urgent`: what a
    person approved or a trusted sender sent. `only_known`: what was attributed before, which costs
    no model call.
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
    """How many complaints of this sender are about incidents attributed since then."""
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
