"""What the state database knows of a question that is also watched. It is only read: a search
poisoned for one user cannot change what the job remembers.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from sqlalchemy import Engine

from radarstream.connectors.state_table.queries.lookup import (
    answered_with,
    question_on_record,
    spellings,
)
from radarstream.connectors.state_table.queries.memory import MemoryRow, load, remembered
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.connectors.state_table.queries.watchlist import load_active, version
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings.watched import Watched, entry_of
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import ConfigurationError, InputError, ReasonClass
from radarstream.schemas.memory import Memory
from radarstream.schemas.searching import SearchRequest
from radarstream.schemas.snapshot import Query
from radarstream.schemas.times import milliseconds

LONGEST = 2_000  # characters of a question, as on the wire


@dataclass(frozen=True, slots=True)
class KnownQuery:
    """A question as a query; how it is watched, and the row of its memory, if there are any."""

    query: Query
    watched: Watched | None = None
    row: MemoryRow | None = None

    @property
    def request(self) -> SearchRequest:
        """How it is searched for."""
        return SearchRequest(self.query) if self.watched is None else self.watched.request

    def memory(self, pipeline: DefensePipeline[Any]) -> Memory[Any]:
        """The pipeline's memory of the query, if it wrote one. Raises InputError for
        a damaged row.
        """
        if self.row is None or self.row.defense != pipeline.name:
            return pipeline.initial_memory()
        return remembered(self.row)

    def seen_at(self, at: datetime) -> datetime:
        """Return this time, or the first moment after the memory where that is as new."""
        ahead_ms = -1 if self.row is None else self.row.as_of_ms - milliseconds(at)
        return at if ahead_ms < 0 else at + timedelta(milliseconds=ahead_ms + 1)


def query_of(text: str, name: str = "question") -> Query:
    """The query of a question that is not watched. Raises InputError for one that cannot be."""
    cleaned = clean(text)
    if not cleaned.strip() or len(cleaned) > LONGEST:
        raise InputError(ReasonClass.OUT_OF_RANGE, f"a {name} has 1 to {LONGEST} characters")
    return Query.from_text(cleaned)


class KnownQueries:
    """Finds queries by what people type. Thread-safe; keeps the watchlist until that changes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._version: tuple[int, int] | None = None
        self._by_name: dict[str, Watched] = {}
        self._by_subject: dict[bytes, Watched] = {}

    def find(self, queries: Sequence[Query]) -> list[KnownQuery]:
        """Find each by its id or by its question, whatever case, white space and final marks."""
        self._follow()
        subjects = [[question_subject(s) for s in spellings(query.text)] for query in queries]
        answered = answered_with(self._engine, {one for ones in subjects for one in ones})
        watched = [self._watched(q.text, s) for q, s in zip(queries, subjects, strict=True)]
        ids = [
            [
                *([] if entry is None else [entry.query.id]),
                query.text,
                query.id,
                *(Query.from_text(s).id for s in spellings(query.text)),
                *(answered[one] for one in ones if one in answered),
            ]
            for query, entry, ones in zip(queries, watched, subjects, strict=True)
        ]
        rows = load(self._engine, [name for names in ids for name in names])
        return [
            self._known(query, entry, next((rows[n] for n in names if n in rows), None))
            for query, entry, names in zip(queries, watched, ids, strict=True)
        ]

    def _known(self, query: Query, entry: Watched | None, row: MemoryRow | None) -> KnownQuery:
        if entry is not None:
            mine = row if row is not None and row.query_id == entry.query.id else None
            return KnownQuery(entry.query, entry, mine)
        if row is None:
            return KnownQuery(query)
        text = query.text
        if row.query_id == text:  # somebody typed an id
            text = question_on_record(self._engine, text) or text
        return KnownQuery(replace(query, id=row.query_id, text=text), None, row)

    def _watched(self, text: str, subjects: Sequence[bytes]) -> Watched | None:
        found = (self._by_subject[one] for one in subjects if one in self._by_subject)
        return self._by_name.get(text) or next(found, None)

    def _follow(self) -> None:
        """Read the watchlist if it is not as it was."""
        now = version(self._engine)
        with self._lock:
            if now == self._version:
                return
            entries: list[Watched] = []
            for watched in load_active(self._engine):
                with suppress(ConfigurationError):  # a damaged entry is the collector's to tell
                    entries.append(entry_of(watched.entry))
            self._by_name = {entry.query.id: entry for entry in entries}
            self._by_subject = {question_subject(e.question): e for e in reversed(entries)}
            self._version = now
