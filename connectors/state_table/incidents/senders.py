"""Records of senders: how many of their complaints people confirmed or dismissed."""

from sqlalchemy import ColumnElement, Connection, and_, case, false, func, or_, select

from radarstream.connectors.state_table.database.tables import COMPLAINTS, INCIDENTS
from radarstream.schemas.incidents import ComplaintState, Decision, SenderRecord, Status

_C, _I = COMPLAINTS.c, INCIDENTS.c
FOR_A_PERSON = (Status.PROPOSED, Status.HUMAN_REVIEW)


def senders_of(connection: Connection, query_id: str, answer: str) -> dict[str, SenderRecord]:
    """Return the records of all who complained about this answer of the query, at any step.

    `unconfirmed` and `waiting` leave this answer out, because it is being decided. It takes two
    statements for any number of senders, so that a flood of names does not delay other writers.
    """
    this = and_(_C.query_id == query_id, _C.answer == answer)
    names = select(_C.sender).where(this).distinct()
    known = _records(connection, _C.sender.in_(names), but=this)
    return {name: known.get(name, SenderRecord()) for name in connection.execute(names).scalars()}


def record_of(connection: Connection, sender: str) -> SenderRecord:
    """Return the record of one sender."""
    return _records(connection, _C.sender == sender).get(sender, SenderRecord())


def waiting_senders(connection: Connection) -> dict[str, SenderRecord]:
    """Return the records of senders with an open complaint and a confirmed one."""
    other = COMPLAINTS.alias()
    waits = select(other.c.sender).where(other.c.state == ComplaintState.OPEN)
    confirmed = (
        select(other.c.sender).join(INCIDENTS, _I.incident == other.c.incident).where(_confirmed())
    )
    return _records(connection, and_(_C.sender.in_(waits), _C.sender.in_(confirmed)))


def _records(
    connection: Connection, whose: ColumnElement[bool], but: ColumnElement[bool] | None = None
) -> dict[str, SenderRecord]:
    """Count the incidents of senders; undecided ones without those of `but`.

    A wrong answer of a query at several steps counts once.
    """
    heard = _C.received_ms <= _I.decided_ms
    status = func.coalesce(_I.status, "")  # null: not attributed, or unusable
    waits = or_(_C.state == ComplaintState.OPEN, status.in_(FOR_A_PERSON))
    counts = (
        select(
            _C.sender,
            _any(and_(_confirmed(), heard)).label("confirmed"),
            func.count(
                case((and_(_I.decision == Decision.DISMISSED, heard), _C.incident)).distinct()
            ).label("dismissed"),
            _any(or_(status == Status.QUARANTINED, false() if but is None else but)).label(
                "left_out"
            ),
            _any(and_(_I.decision.is_(None), ~waits)).label("ended"),
            _any(and_(_I.decision.is_(None), waits)).label("waiting"),
        )
        .outerjoin(INCIDENTS, _I.incident == _C.incident)
        .where(whose)
        .group_by(_C.sender, _C.query_id, _C.answer)
        .subquery()
    ).c
    other = and_(counts.confirmed == 0, counts.dismissed == 0, counts.left_out == 0)
    statement = select(
        counts.sender,
        func.sum(counts.confirmed),
        func.sum(counts.dismissed),
        func.sum(case((other, counts.ended), else_=0)),
        func.sum(case((and_(other, counts.ended == 0), counts.waiting), else_=0)),
    ).group_by(counts.sender)
    return {row[0]: SenderRecord(*map(int, row[1:])) for row in connection.execute(statement)}


def _any(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.max(case((condition, 1), else_=0))


def _confirmed() -> ColumnElement[bool]:
    return _I.decision.in_((Decision.APPROVED, Decision.MODEL_ERRED))
