"""What the last answers were made of, so that a wrong one can be traced to its documents."""

from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    LargeBinary,
    and_,
    cast,
    delete,
    exists,
    func,
    not_,
    select,
)

from radarstream.connectors.state_table.database.tables import CASES, REPORTS, dialect_insert
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.schemas.codec import clean, decode_snapshot, encode
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import UNLIMITED
from radarstream.schemas.reports import PIPELINE, ReportState
from radarstream.schemas.snapshot import SearchSnapshot

# What was decoded once under the job's limits is decoded again whatever they are now.


@dataclass(frozen=True, slots=True)
class Case:
    """An answer of one query at one step and the snapshot it was made of.

    `answer` is the defended one, "" without an answer; `undefended` what all documents together
    led to, None when nobody asked.
    """

    query_id: str
    step: int
    answer: str
    undefended: str | None
    snapshot: SearchSnapshot

    @staticmethod
    def of(event: AnswerEvent, snapshot: SearchSnapshot) -> "Case":
        """What an answer event and its snapshot say."""
        answer = "" if event.abstention else event.answer
        return Case(event.query_id, event.step, answer, event.undefended_answer, snapshot)


def keep_case(connection: Connection, case: Case, *, steps: int) -> None:
    """Keep a case in the caller's transaction and drop the query's older ones.

    The last `steps` stay, and those with an open report of a person.
    """
    row = {
        "query_id": case.query_id,
        "step": case.step,
        "subject": question_subject(case.snapshot.query.text),
        "observed_ms": case.snapshot.observed_at_ms,
        "answer": clean(case.answer),
        "undefended": None if case.undefended is None else clean(case.undefended),
        "snapshot": encode(case.snapshot),
    }
    upsert = dialect_insert(connection, CASES).on_conflict_do_update(
        index_elements=list(CASES.primary_key), set_=row
    )
    connection.execute(upsert, row)
    spent = and_(CASES.c.query_id == case.query_id, CASES.c.step <= case.step - steps)
    connection.execute(delete(CASES).where(spent, not_(_reported())))


def cases_of(engine: Engine, query_id: str) -> list[Case]:
    """Return the cases of a query, the latest first; the few that are kept."""
    return _cases(engine, CASES.c.query_id == query_id)


def find_case(engine: Engine, query_id: str, step: int | None = None) -> Case | None:
    """Return a query's case at a step, or its latest; None if there is none (any more)."""
    where = [CASES.c.query_id == query_id]
    if step is not None:
        where.append(CASES.c.step == step)
    return next(iter(_cases(engine, and_(*where), 1)), None)


def prune_cases(engine: Engine, *, days: float) -> int:
    """Drop cases observed so long before the newest, but none with an open report of a person."""
    newest = select(func.max(CASES.c.observed_ms)).scalar_subquery()
    with engine.begin() as connection:
        limit = connection.execute(select(newest)).scalar_one()
        if limit is None:
            return 0
        old = CASES.c.observed_ms < limit - int(days * 86_400_000)
        return connection.execute(delete(CASES).where(old, not_(_reported()))).rowcount


def _reported() -> ColumnElement[bool]:
    return exists().where(
        REPORTS.c.query_id == CASES.c.query_id,
        REPORTS.c.step == CASES.c.step,
        REPORTS.c.state == ReportState.OPEN,
        REPORTS.c.reporter != PIPELINE,
    )


def _cases(engine: Engine, where: ColumnElement[bool], limit: int = 1_000) -> list[Case]:
    snapshot = cast(CASES.c.snapshot, LargeBinary)  # SQLite stores what it is given
    columns = (CASES.c.query_id, CASES.c.step, CASES.c.answer, CASES.c.undefended, snapshot)
    statement = select(*columns).where(where).order_by(CASES.c.step.desc()).limit(limit)
    with engine.connect() as connection:
        rows = connection.execute(statement).all()
    cases = []
    for query, step, answer, bare, data in rows:
        with suppress(InputError):  # a damaged case is as good as none
            found = decode_snapshot(data, limits=UNLIMITED, now=None)
            cases.append(Case(query, step, answer, bare, found))
    return cases
