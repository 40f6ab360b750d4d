"""Reported answers for whoever looks into them: one row each, however many have reported it."""

from typing import Any

from sqlalchemy import Engine, case, func, select

from radarstream.connectors.state_table.database.tables import ORIGINS, REPORTS
from radarstream.connectors.state_table.incidents.origins import WORD
from radarstream.schemas.reports import ReportState

_R, _O = REPORTS.c, ORIGINS.c


def reported_answers(
    engine: Engine, limit: int = 100, state: ReportState | None = None
) -> list[dict[str, Any]]:
    """Return the answers reported last: one report of each, with its origin's decision and word.

    The report is the oldest open one, or else the oldest judged one; `reports` tells how many there
    are, `received_ms` when the newest of them came in. With `state` only those in it.
    """
    waiting_first = case(
        (_R.state == ReportState.OPEN, 0), (_R.state == ReportState.JUDGED, 1), else_=2
    )
    order = (waiting_first, _R.received_ms, _R.report_id)
    ranked = select(
        REPORTS,
        func.row_number().over(partition_by=_R.misgeneration, order_by=order).label("place"),
        func.count().over(partition_by=_R.misgeneration).label("reports"),
        func.max(_R.received_ms).over(partition_by=_R.misgeneration).label("newest_ms"),
    ).subquery()
    told = [ranked.c[column.name] for column in REPORTS.c if column.name != "received_ms"]
    statement = (
        select(
            *told,
            ranked.c.newest_ms.label("received_ms"),
            ranked.c.reports,
            _O.decision,
            _O.finding,
            WORD,
        )
        .outerjoin(ORIGINS, _O.misgeneration == ranked.c.misgeneration)
        .where(ranked.c.place == 1)
        .order_by(ranked.c.newest_ms.desc(), ranked.c.report_id)
        .limit(limit)
    )
    if state is not None:
        statement = statement.where(ranked.c.state == state)
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(statement).mappings()]
