"""The query that an argument names, by its id or by its question."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final, NamedTuple

import typer
from sqlalchemy import Engine, Table

from connectors.state_table.query_lookup import (
    asked_in_cases,
    asked_in_origins,
    entries,
    known_in,
    question_on_record,
)
from connectors.state_table.subject import question_subject
from connectors.state_table.watchlist import find
from pipelines.cli.terminal import printable
from schemas.errors import ConfigurationError
from schemas.snapshot import Query

FINAL_MARKS: Final = ".?!…。？！؟ \t\n"  # noqa: RUF001 other scripts' marks are meant
ENDINGS: Final = ("", "?", ".", "!", "...", "??", "?!", " ?", " !", "؟", "。")
TOLD = 10  # ids in a message

QueryName = Annotated[str, typer.Argument(help="The query's id, or its question.")]


class Named(NamedTuple):
    """A query's id, and its question where it is on record."""

    query_id: str
    question: str | None


def named_query(engine: Engine, text: str, tables: Sequence[Table]) -> Named | None:
    """Find the query with rows in one of the tables that an id or a question names; None if none.

    A question may differ in case, white space, invisible characters and its final marks. Raises
    ConfigurationError where it names several queries.
    """
    if known_in(engine, tables, [text]):
        return Named(text, question_of(engine, text))
    spelt = spellings(text)
    subjects = {question_subject(spelling) for spelling in spelt}
    by_id = {Query.from_text(spelling).id: spelling for spelling in spelt}
    asking = [*asked_in_cases(engine, subjects), *asked_in_origins(engine, subjects)]
    asking += [
        query_id
        for query_id, entry in entries(engine)
        if question_subject(question_in(entry) or "") in subjects
    ]
    found = known_in(engine, tables, [*asking, *by_id])
    if len(found) > 1:
        told = ", ".join(map(printable, found[:TOLD])) + (", …" if found[TOLD:] else "")
        raise ConfigurationError(f"{len(found)} queries ask this, name one by its id: {told}")
    if not found:
        return None
    return Named(found[0], question_of(engine, found[0]) or by_id.get(found[0]))


def spellings(question: str) -> list[str]:
    """A question with every usual ending; alone, where nothing but marks would be left."""
    bare = question.rstrip(FINAL_MARKS)
    return [bare + ending for ending in ENDINGS] if bare else [question]


def question_of(engine: Engine, query_id: str) -> str | None:
    """The question of a query as the watchlist has it, or else what is kept of its answers."""
    entry = find(engine, query_id)
    watched = question_in(entry.entry) if entry else None
    return watched or question_on_record(engine, query_id)


def question_in(entry: str) -> str | None:
    """The question in an entry of the watchlist."""
    with suppress(ValueError, RecursionError):
        value = json.loads(entry)
        if isinstance(value, dict) and isinstance(value.get("question"), str):
            return str(value["question"])
    return None
