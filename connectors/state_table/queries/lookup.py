"""Finds queries by their id or their question."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from sqlalchemy import Engine, Table, func, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database import tables as t
from radarstream.connectors.state_table.database.tables import KEPT_EVENTS
from radarstream.connectors.state_table.incidents.kept_answers import find_answer
from radarstream.connectors.state_table.incidents.store import STORED_EVENT, readable
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.connectors.state_table.queries.watchlist import find
from radarstream.connectors.state_table.serving.kept_events import asked_in_events, find_event
from radarstream.schemas.snapshot import Query

FINAL_MARKS: Final = ".?!…。？！؟ \t\n"  # noqa: RUF001 marks of other scripts
ENDINGS: Final = ("", "?", ".", "!", "...", "??", "?!", " ?", " !", "؟", "。")
ANSWERED: Final = (t.KEPT_ANSWERS,)
HELD: Final = (t.QUARANTINE,)
ANYWHERE: Final = (
    t.MEMORY,
    t.WATCHLIST,
    t.KEPT_ANSWERS,
    t.COMPLAINTS,
    t.INCIDENTS,
    t.QUARANTINE,
    t.CORPUS_QUERIES,
    KEPT_EVENTS,
)
_K, _I, _W = t.KEPT_ANSWERS.c, t.INCIDENTS.c, t.WATCHLIST.c


def queries_named(engine: Engine, text: str, tables: Sequence[Table]) -> list[str]:
    """Return the ids of the queries with this id or question that have rows in one of the tables.

    A question may differ in case, white space, invisible characters and final marks; several
    queries may have it. With the tables ANSWERED, only questions of kept answers count; else also
    those of the watchlist, of kept events and of attributed answers.
    """
    if _known_in(engine, tables, [text]):
        return [text]
    spelt = spellings(text)
    subjects = {question_subject(spelling) for spelling in spelt}
    asking = select(_K.query_id).where(_K.subject.in_(subjects)).distinct().order_by(_K.query_id)
    found = [query_id for (query_id,) in db.fetch(engine, asking)]
    if tuple(tables) != ANSWERED:
        entries = select(_W.query_id, _W.entry).order_by(_W.query_id)
        watched = [(name, question_in(entry) or "") for name, entry in db.fetch(engine, entries)]
        asked = [*sorted(_attributed(engine)), *asked_in_events(engine, spelt), *watched]
        found += [name for name, question in asked if question_subject(question) in subjects]
    derived = [Query.from_text(spelling).id for spelling in spelt]
    return _known_in(engine, tables, [*found, *derived])


def answered_with(engine: Engine, subjects: Collection[bytes]) -> dict[bytes, str]:
    """Return a query with kept answers about each subject of a question."""
    about = select(_K.subject, _K.query_id).where(_K.subject.in_(list(subjects))).distinct()
    rows = db.fetch(engine, about.order_by(_K.query_id.desc()))
    return {bytes(subject): query_id for subject, query_id in rows}


def spellings(question: str) -> list[str]:
    """Return a question with every usual ending; only itself if it has nothing but marks."""
    bare = question.rstrip(FINAL_MARKS)
    return [bare + ending for ending in ENDINGS] if bare else [question]


def question_in(entry: str) -> str | None:
    """Return the question in an entry of the watchlist, None without one."""
    with suppress(ValueError, RecursionError):
        value = json.loads(entry)
        if isinstance(value, dict) and isinstance(value.get("question"), str):
            return str(value["question"])
    return None


def question_on_record(engine: Engine, query_id: str) -> str | None:
    """Return a query's question, by the watchlist, its latest kept answer or an attribution."""
    entry = find(engine, query_id)
    if entry and (watched := question_in(entry.entry)):
        return watched
    kept = find_answer(engine, query_id)
    if kept is not None:
        return kept.snapshot.query.text
    if answered := find_event(engine, query_id):
        return answered.question
    return next((text for _, text in _attributed(engine, query_id)), None)


def _known_in(engine: Engine, tables: Sequence[Table], query_ids: Iterable[str]) -> list[str]:
    """Return those of the ids that have a row in one of the tables, in their order."""
    wanted = list(dict.fromkeys(query_ids))
    found = {
        query_id
        for table in tables
        for (query_id,) in db.fetch(
            engine, select(table.c.query_id).where(table.c.query_id.in_(wanted)).distinct()
        )
    }
    return [query_id for query_id in wanted if query_id in found]


def _attributed(engine: Engine, query_id: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield id and question of queries with an attributed answer, from one event of each."""
    latest = select(func.max(_I.incident)).where(_I.event.is_not(None)).group_by(_I.query_id)
    if query_id is not None:
        latest = latest.where(_I.query_id == query_id)
    rows = db.fetch(engine, select(_I.query_id, STORED_EVENT).where(_I.incident.in_(latest)))
    for name, stored in rows:
        if event := readable(stored):
            yield name, event.question
