"""Incidents: answers with complaints, their attributions and decisions.

Callers pass the times, in milliseconds since 1970-01-01 UTC.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, LargeBinary, case, cast, func, or_, select, update

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import COMPLAINTS, INCIDENTS
from radarstream.schemas.codec import decode_taught, encode
from radarstream.schemas.errors import InputError
from radarstream.schemas.incidents import ComplaintState, Decision, TaughtEvent

_C, _I = COMPLAINTS.c, INCIDENTS.c
# The casts are for SQLite, which does not enforce the types of columns.
STORED_EVENT = cast(_I.event, LargeBinary).label("event")


@dataclass(frozen=True, slots=True)
class Incident:
    """A row; `event` is the last event of the incident, None before the attribution.

    A damaged event is None too; the answer is then attributed again.
    """

    id: str
    revision: int
    decision: Decision | None = None
    decided_ms: int | None = None
    everywhere: bool = False
    attributed_ms: int | None = None
    model_calls: int = 0
    event: TaughtEvent | None = None


_ROWS = select(
    _I.incident,
    _I.revision,
    _I.decision,
    _I.decided_ms,
    _I.everywhere,
    _I.attributed_ms,
    _I.model_calls,
    STORED_EVENT,
)


def hold(connection: Connection, incident: str, query_id: str, step: int) -> Incident:
    """Lock the row of an incident until the transaction ends, inserting it if it is missing."""
    fresh = {
        "incident": incident,
        "query_id": query_id,
        "step": step,
        "revision": -1,
        "everywhere": False,
        "model_calls": 0,
        "reserved": False,
    }
    # The insert comes first, because on SQLite only a write takes the lock.
    db.insert_new(connection, INCIDENTS, fresh)
    held = _ROWS.where(_I.incident == incident).with_for_update()
    return _incident(connection.execute(held).one())


def look(engine: Engine, incident: str) -> Incident | None:
    """Return an incident; None if it was neither attributed nor decided."""
    rows = db.fetch(engine, _ROWS.where(_I.incident == incident))
    return _incident(rows[0]) if rows else None


def list_incidents(
    engine: Engine, limit: int = 100, state: ComplaintState | None = None, prefix: str = ""
) -> list[dict[str, Any]]:
    """Return the incidents with the newest complaints: one complaint of each, status and decision.

    The complaint is the oldest open one, else the oldest judged one. `complaints` is their number,
    `received_ms` the time of the newest. With `state`, only incidents whose complaint is in it;
    with `prefix`, only those whose id, or a complaint's id, begins with it.
    """
    waiting_first = case(
        (_C.state == ComplaintState.OPEN, 0), (_C.state == ComplaintState.JUDGED, 1), else_=2
    )
    order = (waiting_first, _C.received_ms, _C.complaint_id)
    ranked = select(
        *COMPLAINTS.c,
        func.row_number().over(partition_by=_C.incident, order_by=order).label("place"),
        func.count().over(partition_by=_C.incident).label("complaints"),
        func.max(_C.received_ms).over(partition_by=_C.incident).label("newest_ms"),
    ).subquery()
    columns = [ranked.c[c.name] for c in COMPLAINTS.c if c.name != "received_ms"]
    newest_ms = ranked.c.newest_ms.label("received_ms")
    statement = (
        select(*columns, newest_ms, ranked.c.complaints, _I.status, _I.finding, _I.decision)
        .outerjoin(INCIDENTS, _I.incident == ranked.c.incident)
        .where(ranked.c.place == 1)
        .order_by(ranked.c.newest_ms.desc(), ranked.c.complaint_id)
        .limit(limit)
    )
    if state is not None:
        statement = statement.where(ranked.c.state == state)
    if prefix:
        complaint = _C.complaint_id.startswith(prefix, autoescape=True)
        named = or_(complaint, _C.incident.startswith(prefix, autoescape=True))
        statement = statement.where(ranked.c.incident.in_(select(_C.incident).where(named)))
    return [row._asdict() for row in db.fetch(engine, statement)]


def events_of(engine: Engine, incidents: Sequence[str]) -> dict[str, TaughtEvent]:
    """Return the last events of incidents that have one, by incident."""
    found: dict[str, TaughtEvent] = {}
    for some in db.chunks(incidents):
        statement = select(_I.incident, STORED_EVENT).where(_I.incident.in_(some))
        read = ((name, readable(stored)) for name, stored in db.fetch(engine, statement))
        found |= {name: event for name, event in read if event is not None}
    return found


def readable(stored: bytes | None) -> TaughtEvent | None:
    """Decode a stored event; None without one, or for a damaged one."""
    try:
        return decode_taught(stored) if stored else None
    except InputError:
        return None


def write_event(connection: Connection, event: TaughtEvent) -> None:
    """Store the event of a locked row."""
    values = {"revision": event.revision, "status": event.status, "finding": event.finding}
    _write(connection, event.incident, event=encode(event), **values)


def note_attribution(
    connection: Connection, incident: str, *, at_ms: int, model_calls: int, reserved: bool = False
) -> None:
    """Note time and cost of an attribution on a locked row; costs of retries add up.

    `reserved` says which half of the budget paid.
    """
    spent_calls = _I.model_calls + model_calls
    _write(connection, incident, attributed_ms=at_ms, model_calls=spent_calls, reserved=reserved)


def decide(
    connection: Connection, incident: str, decision: Decision, *, everywhere: bool, at_ms: int
) -> None:
    """Write a person's decision and its time into a locked row."""
    # A repeated decision keeps its time, because later complaints repeated a known fact.
    since = case((_I.decision.is_not_distinct_from(decision), _I.decided_ms), else_=at_ms)
    _write(connection, incident, decision=decision, decided_ms=since, everywhere=everywhere)


def spent(engine: Engine, hour_ago_ms: int, day_ago_ms: int, *, reserved: bool) -> tuple[int, int]:
    """Return the number of attributions since `hour_ago_ms` and of model calls since `day_ago_ms`,
    of the reserved half of the budget or of the other.
    """
    mine = _I.reserved == reserved
    recent = select(func.count()).where(_I.attributed_ms >= hour_ago_ms, mine)
    called = func.coalesce(func.sum(_I.model_calls), 0)
    calls = select(called).where(_I.attributed_ms >= day_ago_ms, mine)
    return int(db.fetch_value(engine, recent)), int(db.fetch_value(engine, calls))


def _write(connection: Connection, incident: str, **values: Any) -> None:
    connection.execute(update(INCIDENTS).where(_I.incident == incident).values(values))


def _incident(row: Any) -> Incident:
    name, revision, decision, decided_ms, everywhere, attributed_ms, calls, event = row
    known = Decision(decision) if decision in tuple(Decision) else None
    taught = readable(event)
    return Incident(name, revision, known, decided_ms, everywhere, attributed_ms, calls, taught)
