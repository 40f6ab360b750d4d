"""Which report is looked at next: reporters take turns, whoever they are."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Engine, case, func, or_, select

from radarstream.connectors.state_table.database.tables import CASES, ORIGINS, REPORTS
from radarstream.connectors.state_table.incidents.reports import StoredReport, report_of
from radarstream.schemas.reports import PIPELINE, ReportState, Word

_R, _O = REPORTS.c, ORIGINS.c


def next_open(
    engine: Engine,
    *,
    day_ago_ms: int,
    trusted: Collection[str] = (),
    only_urgent: bool = False,
    only_known: bool = False,
) -> StoredReport | None:
    """Return the report to look at next; None when none waits.

    What a person has approved first, then people before the pipeline, then in turns: a reporter's
    first report comes before everybody's second one, and what was attributed of theirs since
    `day_ago_ms` counts, so that nobody has many firsts. Within a turn: `trusted` reporters, then
    the answer that is still the latest of its query (it is the one consumers have), then in the
    order of arrival. `only_urgent`: what was approved or comes from a trusted reporter.
    `only_known`: what was attributed before, which costs no model call.
    """
    latest = select(func.max(CASES.c.step)).where(CASES.c.query_id == _R.query_id).scalar_subquery()
    approved = case((_O.word == Word.APPROVED, 0), else_=1)
    urgency = (case((_R.step == latest, 0), else_=1), _R.attempts, _R.received_ms, _R.report_id)
    place = func.row_number().over(partition_by=_R.reporter, order_by=(approved, *urgency))
    statement = (
        select(REPORTS)
        .outerjoin(ORIGINS, _O.misgeneration == _R.misgeneration)
        .where(_R.state == ReportState.OPEN)
        .order_by(
            approved,
            case((_R.reporter == PIPELINE, 1), else_=0),
            place + case((_R.reporter == PIPELINE, 0), else_=_served(day_ago_ms)),
            case((_R.reporter.in_(trusted), 0), else_=1),
            *urgency,
        )
        .limit(1)
    )
    known = _O.finding.is_not(None)
    if only_known:
        statement = statement.where(known)
    elif only_urgent:
        urgent = or_(_O.word == Word.APPROVED, _R.reporter.in_(trusted))
        statement = statement.where(urgent)
    with engine.connect() as connection:
        row = connection.execute(statement).mappings().first()
    return report_of(row) if row else None


def _served(since_ms: int) -> ColumnElement[int]:
    """How many reports of this reporter are about what was attributed since then."""
    other, origin = REPORTS.alias(), ORIGINS.alias()
    return (
        select(func.count())
        .select_from(other.join(origin, origin.c.misgeneration == other.c.misgeneration))
        .where(other.c.reporter == _R.reporter, origin.c.attributed_ms >= since_ms)
        .correlate(REPORTS)
        .scalar_subquery()
    )
