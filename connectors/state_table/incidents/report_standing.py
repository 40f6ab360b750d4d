"""What people's words say of a reporter: how many of their reports they confirmed."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, case, false, func, or_, select

from radarstream.connectors.state_table.database.tables import ORIGINS, REPORTS
from radarstream.schemas.reports import Decision, ReportState, Word

_R, _O = REPORTS.c, ORIGINS.c
FOR_A_PERSON = (Decision.PROPOSED, Decision.HUMAN_REVIEW)


@dataclass(frozen=True, slots=True)
class Standing:
    """A reporter's wrong answers: those a person confirmed or dismissed, and all others.

    The others are `waiting`, for their attribution or for a person, or ended `unconfirmed`. What a
    quarantine bore out, or a person had judged before it was reported, is none of them.
    """

    confirmed: int = 0
    dismissed: int = 0
    unconfirmed: int = 0
    waiting: int = 0


def reporters_of(connection: Connection, query_id: str, answer: str) -> dict[str, Standing]:
    """Everybody who reported this answer of the query, at whichever step, with their standing.

    That answer itself is not among the others: it is what is to be decided. Two statements,
    however many there are: a flood of invented names holds up no other writer.
    """
    this = and_(_R.query_id == query_id, _R.answer == answer)
    names = select(_R.reporter).where(this).distinct()
    known = _standings(connection, _R.reporter.in_(names), but=this)
    return {name: known.get(name, Standing()) for name in connection.execute(names).scalars()}


def standing(connection: Connection, reporter: str) -> Standing:
    """What is known of one reporter."""
    return _standings(connection, _R.reporter == reporter).get(reporter, Standing())


def waiting_reporters(connection: Connection) -> dict[str, Standing]:
    """Everybody with an open report and a confirmed one, with their standing."""
    other = REPORTS.alias()
    waits = select(other.c.reporter).where(other.c.state == ReportState.OPEN)
    confirmed = (
        select(other.c.reporter)
        .join(ORIGINS, _O.misgeneration == other.c.misgeneration)
        .where(_confirmed())
    )
    return _standings(connection, and_(_R.reporter.in_(waits), _R.reporter.in_(confirmed)))


def has_reported(connection: Connection, reporter: str) -> bool:
    """Whether a report of this name, spelt so, is kept."""
    statement = select(_R.report_id).where(_R.reporter == reporter).limit(1)
    return connection.execute(statement).first() is not None


def _standings(
    connection: Connection, whose: ColumnElement[bool], but: ColumnElement[bool] | None = None
) -> dict[str, Standing]:
    """Of those who have reported; answers that no person judged without those of `but`.

    A wrong answer that a query repeats at several steps counts once: three steps are no record.
    """
    heard = _R.received_ms <= _O.word_ms
    decision = func.coalesce(_O.decision, "")  # null: not attributed, or given up
    waits = or_(_R.state == ReportState.OPEN, decision.in_(FOR_A_PERSON))
    told = (
        select(
            _R.reporter,
            _any(and_(_confirmed(), heard)).label("confirmed"),
            func.count(case((and_(_dismissed(), heard), _R.misgeneration)).distinct()).label(
                "dismissed"
            ),
            _any(or_(decision == Decision.QUARANTINED, false() if but is None else but)).label(
                "left_out"
            ),
            _any(and_(_O.word.is_(None), ~waits)).label("ended"),
            _any(and_(_O.word.is_(None), waits)).label("waiting"),
        )
        .outerjoin(ORIGINS, _O.misgeneration == _R.misgeneration)
        .where(whose)
        .group_by(_R.reporter, _R.query_id, _R.answer)
        .subquery()
    ).c
    other = and_(told.confirmed == 0, told.dismissed == 0, told.left_out == 0)
    statement = select(
        told.reporter,
        func.sum(told.confirmed),
        func.sum(told.dismissed),
        func.sum(case((other, told.ended), else_=0)),
        func.sum(case((and_(other, told.ended == 0), told.waiting), else_=0)),
    ).group_by(told.reporter)
    return {row[0]: Standing(*map(int, row[1:])) for row in connection.execute(statement)}


def _any(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.max(case((condition, 1), else_=0))


def _confirmed() -> ColumnElement[bool]:
    return or_(_O.word == Word.APPROVED, _O.model_erred)


def _dismissed() -> ColumnElement[bool]:
    return and_(_O.word == Word.DISMISSED, ~_O.model_erred)
