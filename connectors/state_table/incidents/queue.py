"""Which complaint comes next: senders take turns."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Engine, case, func, or_, select

from radarstream.connectors.state_table.database.tables import (
    COMPLAINTS,
    INCIDENTS,
    KEPT_ANSWERS,
    keyed,
)
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint, complaint_of
from radarstream.schemas.incidents import PIPELINE, ComplaintState, Decision

_C, _I = COMPLAINTS.c, INCIDENTS.c


def next_open(
    engine: Engine,
    *,
    day_ago_ms: int,
    trusted: Collection[str] = (),
    only_urgent: bool = False,
    only_known: bool = False,
) -> StoredComplaint | None:
    """Return the complaint to look at next; None when none waits.

    What a person approved comes first, then people come before the pipeline. Senders take turns: a
    sender's first complaint comes before everybody's second one. Those attributed since
    `day_ago_ms` count, so that nobody has many firsts. Within a turn, `trusted` senders come first,
    then the answer that is still the latest of its query (it is the one consumers have), then the
    order of arrival. `only_urgent`: what a person approved or a trusted sender sent. `only_known`:
    what was attributed before, which costs no model call.
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
        select(*keyed(COMPLAINTS))
        .outerjoin(INCIDENTS, _I.incident == _C.incident)
        .where(_C.state == ComplaintState.OPEN)
        .order_by(
            approved,
            case((_C.sender == PIPELINE, 1), else_=0),
            place + case((_C.sender == PIPELINE, 0), else_=_served(day_ago_ms)),
            case((_C.sender.in_(trusted), 0), else_=1),
            *urgency,
        )
        .limit(1)
    )
    known = _I.finding.is_not(None)
    if only_known:
        statement = statement.where(known)
    elif only_urgent:
        urgent = or_(_I.decision == Decision.APPROVED, _C.sender.in_(trusted))
        statement = statement.where(urgent)
    with engine.connect() as connection:
        row = connection.execute(statement).mappings().first()
    return complaint_of(row) if row else None


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
