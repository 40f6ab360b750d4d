"""What the state database knows of a question that is also watched: its query and its memory.

It is only read. So one search that was poisoned for one user cannot change what the job remembers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from radarstream.connectors.state_table.queries.lookup import spellings
from radarstream.connectors.state_table.queries.memory import MemoryRow, load, remembered
from radarstream.pipelines.guard import Guard
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.memory import Memory
from radarstream.schemas.snapshot import Query

LONGEST = 2_000  # characters of a question, as on the wire
TICK = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class KnownQuery:
    """A question as a query, and the row of its memory if it has one."""

    query: Query
    row: MemoryRow | None = None

    def memory(self, guard: Guard[Any]) -> Memory[Any]:
        """What the guard remembers of the query. Nothing, where another defence wrote it.

        Raises InputError where the row is damaged.
        """
        if self.row is None or self.row.defense != guard.name:
            return guard.initial_memory()
        return remembered(self.row)

    def seen_at(self, at: datetime) -> datetime:
        """Return this time, or the first moment after the memory where that is as new."""
        ahead_ms = -1 if self.row is None else self.row.as_of_ms - int(at.timestamp() * 1000)
        return at if ahead_ms < 0 else at + (ahead_ms + 1) * TICK


def query_of(text: str) -> Query:
    """The query of a question that is not watched. Raises InputError for one that cannot be."""
    cleaned = clean(text)
    if not cleaned.strip() or len(cleaned) > LONGEST:
        raise InputError(ReasonClass.OUT_OF_RANGE, f"a question has 1 to {LONGEST} characters")
    return Query.from_text(cleaned)


def known_queries(engine: Engine, queries: Sequence[Query]) -> list[KnownQuery]:
    """Find each query under its own id, or that of the same words with another final mark."""
    ids = [[q.id, *(Query.from_text(s).id for s in spellings(q.text))] for q in queries]
    rows = load(engine, [name for names in ids for name in names])
    found = []
    for query, names in zip(queries, ids, strict=True):
        row = next((rows[name] for name in names if name in rows), None)
        found.append(KnownQuery(query if row is None else replace(query, id=row.query_id), row))
    return found
