"""The query that an argument names, by its id or by its question."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Engine, Table

from radarstream.connectors.state_table.queries import lookup
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.shown import one_line
from radarstream.schemas.snapshot import Query

SHOWN = 10  # ids in a message


class Named(NamedTuple):
    """A query's id, and its question where it is on record."""

    query_id: str
    question: str | None


def named_query(engine: Engine, text: str, tables: Sequence[Table]) -> Named | None:
    """The query that an id or a question names in the tables. Raises ConfigurationError for
    several.
    """
    found = lookup.queries_named(engine, text, tables)
    if len(found) > 1:
        ids = ", ".join(map(one_line, found[:SHOWN])) + (", …" if found[SHOWN:] else "")
        raise ConfigurationError(f"{len(found)} queries ask this, name one by its id: {ids}")
    if not found:
        return None
    query_id = found[0]
    question = lookup.question_on_record(engine, query_id)
    derived = {Query.from_text(spelling).id: spelling for spelling in lookup.spellings(text)}
    return Named(query_id, question or derived.get(query_id))


def id_of(engine: Engine, text: str, tables: Sequence[Table]) -> str:
    """The id of the query that is named; what was typed where no row is of it."""
    named = named_query(engine, text, tables)
    return named.query_id if named else text
