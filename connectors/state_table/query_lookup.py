"""Which query somebody means who types its id or its question."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sqlalchemy import Connection, Engine, Table, func, select

from connectors.state_table.cases import find_case
from connectors.state_table.subject import question_subject
from connectors.state_table.tables import (
    CASES,
    CORPUS_QUERIES,
    MEMORY,
    ORIGINS,
    QUARANTINE,
    REPORTS,
    SOURCE_EVENTS,
    WATCHLIST,
)
from schemas.codec import decode_origin

ANSWERED: Final = (CASES,)
HELD: Final = (QUARANTINE,)
ANYWHERE: Final = (
    MEMORY,
    WATCHLIST,
    CASES,
    REPORTS,
    ORIGINS,
    QUARANTINE,
    CORPUS_QUERIES,
    SOURCE_EVENTS,
)


def known_in(engine: Engine, tables: Sequence[Table], query_ids: Iterable[str]) -> list[str]:
    """Return those of the ids that have a row in one of the tables, in their order."""
    wanted = list(dict.fromkeys(query_ids))
    found: set[str] = set()
    with engine.connect() as connection:
        for table in tables:
            statement = select(table.c.query_id).where(table.c.query_id.in_(wanted)).distinct()
            found.update(connection.execute(statement).scalars())
    return [query_id for query_id in wanted if query_id in found]


def asked_in_cases(engine: Engine, subjects: Iterable[bytes]) -> list[str]:
    """Return the ids of the queries with a kept answer whose question has one of the subjects."""
    statement = select(CASES.c.query_id).where(CASES.c.subject.in_(list(subjects))).distinct()
    with engine.connect() as connection:
        return list(connection.execute(statement.order_by(CASES.c.query_id)).scalars())


def asked_in_origins(engine: Engine, subjects: Iterable[bytes]) -> list[str]:
    """Return the ids of the queries with an attributed answer that ask one of the subjects."""
    wanted = frozenset(subjects)
    with engine.connect() as connection:
        told = _questions(connection)
        return sorted(query for query, text in told if question_subject(text) in wanted)


def question_on_record(engine: Engine, query_id: str) -> str | None:
    """Return a query's question as its latest kept answer has it, or an attributed one."""
    case = find_case(engine, query_id)
    if case is not None:
        return case.snapshot.query.text
    with engine.connect() as connection:
        return next((text for _, text in _questions(connection, query_id)), None)


def entries(engine: Engine) -> list[tuple[str, str]]:
    """Return id and entry of every query that is or was on the watchlist."""
    statement = select(WATCHLIST.c.query_id, WATCHLIST.c.entry).order_by(WATCHLIST.c.query_id)
    with engine.connect() as connection:
        return [(row[0], row[1]) for row in connection.execute(statement)]


def _questions(connection: Connection, query_id: str | None = None) -> Iterator[tuple[str, str]]:
    """Id and question of queries with an attributed answer, from one event of each."""
    attributed = select(ORIGINS.c.query_id, func.max(ORIGINS.c.misgeneration).label("one"))
    attributed = attributed.where(ORIGINS.c.event.is_not(None)).group_by(ORIGINS.c.query_id)
    if query_id is not None:
        attributed = attributed.where(ORIGINS.c.query_id == query_id)
    one = attributed.subquery()
    statement = select(ORIGINS.c.query_id, ORIGINS.c.event).join(
        one, one.c.one == ORIGINS.c.misgeneration
    )
    for name, event in connection.execute(statement):
        yield name, decode_origin(event).question
