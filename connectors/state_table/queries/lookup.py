"""Which query somebody means who types its id or its question."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from sqlalchemy import Connection, Engine, Table, func, select

from radarstream.connectors.state_table.database.tables import (
    COMPLAINTS,
    CORPUS_QUERIES,
    INCIDENTS,
    KEPT_ANSWERS,
    MEMORY,
    QUARANTINE,
    SOURCE_EVENTS,
    WATCHLIST,
)
from radarstream.connectors.state_table.incidents.kept_answers import find_answer
from radarstream.connectors.state_table.incidents.store import STORED_EVENT, readable
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.schemas.snapshot import Query

FINAL_MARKS: Final = ".?!…。？！؟ \t\n"  # noqa: RUF001 other scripts' marks are meant
ENDINGS: Final = ("", "?", ".", "!", "...", "??", "?!", " ?", " !", "؟", "。")
ANSWERED: Final = (KEPT_ANSWERS,)
HELD: Final = (QUARANTINE,)
ANYWHERE: Final = (
    MEMORY,
    WATCHLIST,
    KEPT_ANSWERS,
    COMPLAINTS,
    INCIDENTS,
    QUARANTINE,
    CORPUS_QUERIES,
    SOURCE_EVENTS,
)


def queries_named(engine: Engine, text: str, tables: Sequence[Table]) -> list[str]:
    """Return the ids of the queries with rows in one of the tables that an id or a question names.

    An id names one query. A question may differ in case, white space, invisible characters and its
    final marks, and several queries may ask it. Of queries that are ANSWERED, the question of a
    kept answer counts; else also those of the watchlist and of attributed answers, all of which are
    read.
    """
    if known_in(engine, tables, [text]):
        return [text]
    spelt = spellings(text)
    subjects = {question_subject(spelling) for spelling in spelt}
    asking = asked_in_answers(engine, subjects)
    if tuple(tables) != ANSWERED:
        asking += asked_in_incidents(engine, subjects)
        asking += [
            query_id
            for query_id, entry in entries(engine)
            if question_subject(question_in(entry) or "") in subjects
        ]
    derived = [Query.from_text(spelling).id for spelling in spelt]
    return known_in(engine, tables, [*asking, *derived])


def spellings(question: str) -> list[str]:
    """A question with every usual ending; alone, where nothing but marks would be left."""
    bare = question.rstrip(FINAL_MARKS)
    return [bare + ending for ending in ENDINGS] if bare else [question]


def question_in(entry: str) -> str | None:
    """The question in an entry of the watchlist."""
    with suppress(ValueError, RecursionError):
        value = json.loads(entry)
        if isinstance(value, dict) and isinstance(value.get("question"), str):
            return str(value["question"])
    return None


def known_in(engine: Engine, tables: Sequence[Table], query_ids: Iterable[str]) -> list[str]:
    """Return those of the ids that have a row in one of the tables, in their order."""
    wanted = list(dict.fromkeys(query_ids))
    found: set[str] = set()
    with engine.connect() as connection:
        for table in tables:
            statement = select(table.c.query_id).where(table.c.query_id.in_(wanted)).distinct()
            found.update(connection.execute(statement).scalars())
    return [query_id for query_id in wanted if query_id in found]


def asked_in_answers(engine: Engine, subjects: Iterable[bytes]) -> list[str]:
    """Return the ids of the queries with a kept answer whose question has one of the subjects."""
    statement = (
        select(KEPT_ANSWERS.c.query_id).where(KEPT_ANSWERS.c.subject.in_(list(subjects))).distinct()
    )
    with engine.connect() as connection:
        return list(connection.execute(statement.order_by(KEPT_ANSWERS.c.query_id)).scalars())


def asked_in_incidents(engine: Engine, subjects: Iterable[bytes]) -> list[str]:
    """Return the ids of the queries with an attributed answer that ask one of the subjects."""
    wanted = frozenset(subjects)
    with engine.connect() as connection:
        told = _questions(connection)
        return sorted(query for query, text in told if question_subject(text) in wanted)


def question_on_record(engine: Engine, query_id: str) -> str | None:
    """Return a query's question as its latest kept answer has it, or an attributed one."""
    kept = find_answer(engine, query_id)
    if kept is not None:
        return kept.snapshot.query.text
    with engine.connect() as connection:
        return next((text for _, text in _questions(connection, query_id)), None)


def entries(engine: Engine) -> list[tuple[str, str]]:
    """Return id and entry of every query that is or was on the watchlist."""
    statement = select(WATCHLIST.c.query_id, WATCHLIST.c.entry).order_by(WATCHLIST.c.query_id)
    with engine.connect() as connection:
        return [(row[0], row[1]) for row in connection.execute(statement)]


def _questions(connection: Connection, query_id: str | None = None) -> Iterator[tuple[str, str]]:
    """Id and question of queries with an attributed answer, from one event of each."""
    attributed = select(INCIDENTS.c.query_id, func.max(INCIDENTS.c.incident).label("one"))
    attributed = attributed.where(INCIDENTS.c.event.is_not(None)).group_by(INCIDENTS.c.query_id)
    if query_id is not None:
        attributed = attributed.where(INCIDENTS.c.query_id == query_id)
    one = attributed.subquery()
    statement = select(INCIDENTS.c.query_id, STORED_EVENT).join(
        one, one.c.one == INCIDENTS.c.incident
    )
    for name, stored in connection.execute(statement):
        event = readable(stored)
        if event is not None:
            yield name, event.question
