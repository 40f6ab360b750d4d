"""The query that an argument names, by its id or by its question."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer
from sqlalchemy import Engine, Table

from radarstream.connectors.state_table.queries.lookup import (
    queries_named,
    question_in,
    question_on_record,
    spellings,
)
from radarstream.connectors.state_table.queries.watchlist import find
from radarstream.pipelines.cli.terminal import printable
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Query

TOLD = 10  # ids in a message

QueryName = Annotated[str, typer.Argument(help="The query's id, or its question.")]


class Named(NamedTuple):
    """A query's id, and its question where it is on record."""

    query_id: str
    question: str | None


def named_query(engine: Engine, text: str, tables: Sequence[Table]) -> Named | None:
    """Find the query with rows in one of the tables that an id or a question names; None if none.

    Raises ConfigurationError where a question names several queries.
    """
    found = queries_named(engine, text, tables)
    if len(found) > 1:
        told = ", ".join(map(printable, found[:TOLD])) + (", …" if found[TOLD:] else "")
        raise ConfigurationError(f"{len(found)} queries ask this, name one by its id: {told}")
    if not found:
        return None
    derived = {Query.from_text(spelling).id: spelling for spelling in spellings(text)}
    return Named(found[0], question_of(engine, found[0]) or derived.get(found[0]))


def unrecorded(text: str, *, retract: bool) -> Named:
    """What is named by an id or a question of which no row is left.

    Raises ConfigurationError where a tombstone is wanted and its key, the id, is not known.
    """
    if text == "".join(text.split()):
        return Named(text, None)
    if retract:
        raise ConfigurationError(
            f"no query on record asks {printable(text)!r}: --retract needs its id, under which "
            "its answers were published"
        )
    return Named(text, text)


def question_of(engine: Engine, query_id: str) -> str | None:
    """The question of a query as the watchlist has it, or else what is kept of its answers."""
    entry = find(engine, query_id)
    watched = question_in(entry.entry) if entry else None
    return watched or question_on_record(engine, query_id)
