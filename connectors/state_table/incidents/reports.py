"""Reports of wrong answers: taken in within limits, then waiting for their attribution.

Times are milliseconds since 1970-01-01 UTC and come from the caller; nothing here looks at a clock.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, case, delete, func, or_, select, update

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.database.tables import (
    ORIGINS,
    QUARANTINE,
    REPORTS,
    dialect_insert,
)
from radarstream.connectors.state_table.incidents.origins import WORD
from radarstream.connectors.state_table.incidents.quarantine import holding
from radarstream.schemas.reports import PIPELINE, ReportState, Word

_R, _O = REPORTS.c, ORIGINS.c
OWN_AT_ONCE = 100_000  # reports of the pipeline that are pruned at once


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as stored, what it left open filled in from the case; columns of the same names."""

    report_id: str
    misgeneration: str
    query_id: str
    step: int
    answer: str
    reporter: str
    reported_ms: int
    received_ms: int
    comment: str = ""
    state: ReportState = ReportState.OPEN
    attempts: int = 0
    detail: str = ""


def repeated(connection: Connection, report: StoredReport) -> StoredReport | None:
    """The report that this one repeats, if any: its own, or its reporter's on the same answer."""
    itself = _R.report_id == report.report_id
    alike = (_R.misgeneration == report.misgeneration) & (_R.reporter == report.reporter)
    statement = select(REPORTS).where(or_(itself, alike)).order_by(case((itself, 0), else_=1))
    row = connection.execute(statement.limit(1)).mappings().first()
    return report_of(row) if row else None


def insert(connection: Connection, report: StoredReport) -> bool:
    """Store a report in the caller's transaction; False when it was there already."""
    statement = dialect_insert(connection, REPORTS).on_conflict_do_nothing()
    counted = statement.execution_options(preserve_rowcount=True)
    return connection.execute(counted, asdict(report)).rowcount == 1


def received_since(connection: Connection, reporter: str, since_ms: int) -> int:
    """How many reports of a reporter were taken in since then."""
    return _count(connection, _R.reporter == reporter, _R.received_ms >= since_ms)


def count_open(connection: Connection, reporter: str | None = None) -> int:
    """How many reports of people wait, or of this reporter."""
    whose = _R.reporter != PIPELINE if reporter is None else _R.reporter == reporter
    return _count(connection, _R.state == ReportState.OPEN, whose)


def find_reports(
    engine: Engine,
    prefix: str = "",
    limit: int = 100,
    state: ReportState | None = None,
    query_id: str | None = None,
) -> list[dict[str, Any]]:
    """Return the newest reports whose id begins so, each with its origin's decision and word.

    With `state` or `query_id` those of it alone.
    """
    statement = (
        select(REPORTS, _O.decision, _O.finding, WORD)
        .outerjoin(ORIGINS, _O.misgeneration == _R.misgeneration)
        .where(_R.report_id.startswith(prefix, autoescape=True))
        .order_by(_R.received_ms.desc(), _R.report_id)
        .limit(limit)
    )
    if state is not None:
        statement = statement.where(_R.state == state)
    if query_id is not None:
        statement = statement.where(_R.query_id == query_id)
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(statement).mappings()]


def waiting(connection: Connection, misgeneration: str) -> list[StoredReport]:
    """Return the open reports of one wrong answer, oldest first."""
    mine = (_R.misgeneration == misgeneration, _R.state == ReportState.OPEN)
    statement = select(REPORTS).where(*mine).order_by(_R.received_ms)
    return [report_of(row) for row in connection.execute(statement).mappings()]


def close(
    connection: Connection,
    misgeneration: str,
    state: ReportState,
    detail: str = "",
    seen: Sequence[StoredReport] | None = None,
) -> None:
    """End the wait of the open reports of one wrong answer; with `seen`, of these alone."""
    statement = update(REPORTS).where(
        _R.misgeneration == misgeneration, _R.state == ReportState.OPEN
    )
    if seen is not None:
        statement = statement.where(_R.report_id.in_([report.report_id for report in seen]))
    connection.execute(statement.values(state=state, detail=detail))


def reopen(connection: Connection, misgeneration: str) -> None:
    """Let the reports of one wrong answer wait again."""
    connection.execute(
        update(REPORTS)
        .where(_R.misgeneration == misgeneration)
        .values(state=ReportState.OPEN, detail="", attempts=0)
    )


def note_failure(engine: Engine, report: StoredReport, detail: str, *, attempts: int) -> None:
    """Count a try that failed; after `attempts` of them the report is unusable."""
    failed = report.attempts + 1
    state = ReportState.UNUSABLE if failed >= attempts else ReportState.OPEN

    def work() -> None:
        with engine.begin() as connection:
            connection.execute(
                update(REPORTS)
                .where(_R.misgeneration == report.misgeneration, _R.state == ReportState.OPEN)
                .values(attempts=failed, state=state, detail=detail)
            )

    retry_contended(work)


def expire(engine: Engine, before_ms: int, detail: str) -> int:
    """Give up open reports that were received before then; return how many.

    What a person has approved goes on waiting.
    """
    approved = select(_O.misgeneration).where(_O.word == Word.APPROVED)
    old = (_R.state == ReportState.OPEN, _R.received_ms < before_ms)

    def work() -> int:
        with engine.begin() as connection:
            statement = update(REPORTS).where(*old, _R.misgeneration.not_in(approved))
            given_up = statement.values(state=ReportState.UNUSABLE, detail=detail)
            return connection.execute(given_up).rowcount

    return retry_contended(work)


def prune_reports(engine: Engine, before_ms: int, *, own_open: int) -> int:
    """Delete reports that were attributed, or else received, before then, and their origins.

    What is open, or holds a text in quarantine, stays. Of the pipeline's own open reports only the
    newest `own_open` do: it may suspect more than anybody can attribute.
    """
    attributed = select(_O.attributed_ms).where(_O.misgeneration == _R.misgeneration)
    since = func.coalesce(attributed.scalar_subquery(), _R.received_ms)
    old = (since < before_ms, _R.state != ReportState.OPEN, ~holding(_R.misgeneration))
    own = (_R.reporter == PIPELINE, _R.state == ReportState.OPEN)
    newest = select(_R.report_id).where(*own).order_by(_R.received_ms.desc(), _R.report_id)
    too_many = newest.offset(own_open).limit(OWN_AT_ONCE).subquery()
    orphans = _O.misgeneration.not_in(select(_R.misgeneration))
    with engine.begin() as connection:
        deleted = connection.execute(delete(REPORTS).where(*old)).rowcount
        surplus = delete(REPORTS).where(_R.report_id.in_(select(too_many.c.report_id)))
        deleted += connection.execute(surplus).rowcount
        connection.execute(delete(ORIGINS).where(orphans, ~holding(_O.misgeneration)))
        gone = QUARANTINE.c.misgeneration.not_in(select(_O.misgeneration))
        connection.execute(delete(QUARANTINE).where(gone, ~QUARANTINE.c.active))
    return deleted


def counts(engine: Engine) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many reports there are by state, and how many origins by decision."""
    with engine.connect() as connection:
        states = connection.execute(select(_R.state, func.count()).group_by(_R.state))
        by_state = {row[0]: row[1] for row in states}
        decided = select(_O.decision, func.count()).where(_O.decision.is_not(None))
        decisions = connection.execute(decided.group_by(_O.decision))
        return by_state, {row[0]: row[1] for row in decisions}


def _count(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    statement = select(func.count()).select_from(REPORTS).where(*conditions)
    return connection.execute(statement).scalar_one()


def report_of(row: Any) -> StoredReport:
    """Read a report from a row that may have more than it."""
    values = {name: row[name] for name in StoredReport.__dataclass_fields__}
    known = values["state"] in tuple(ReportState)  # a damaged one waits for nothing
    state = ReportState(values["state"]) if known else ReportState.UNUSABLE
    return StoredReport(**(values | {"state": state}))
