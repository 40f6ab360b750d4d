"""Questions of programs, and their snapshots."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from radarstream.connectors.state_table.queries.memory import MemoryRow
from radarstream.library.documents import listed, to_documents, to_read
from radarstream.pipelines.documents import DocumentReader, Given, Offered, Unread, in_path
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.records import Limits
from radarstream.schemas.snapshot import MOST_LYING, Document, Query, SearchSnapshot

MOST_QUESTION, MOST_ID = 2_000, 200  # characters, as on the wire


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its documents, for `Guard.answer_many`.

    The fields are the parameters of `Guard.answer`, `text` the question; errors are raised there.

    >>> from radarstream import Guard
    >>> question = Question("The capital?", ["Lima is the capital."], id="peru", withstand=0)
    >>> with Guard(profile="scripted") as guard:
    ...     guard.answer_many([question])[0].text
    'Lima'
    """

    text: str
    documents: Iterable[Any]
    at: datetime | None = None
    id: str | None = None
    withstand: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked question: documents as `given` by the caller, and converted. If some have to be
    read first, `documents` is empty and `to_read` has them all; some may then be `unread`. `trace`
    is as in `Observed`.
    """

    query: Query
    given: tuple[Any, ...]
    documents: tuple[Document, ...]
    at: datetime | None
    to_read: tuple[Document | Given, ...] = ()
    unread: tuple[Unread, ...] = ()
    trace: str | None = None

    @staticmethod
    def of(given_as: Question | tuple[str, Iterable[Any]]) -> "Asked":
        """Check a question and drop its control characters. Raises TypeError for documents without
        text and values of wrong types, ValueError for a question or id that is empty or too long,
        an id with control characters, a time without a zone, a `withstand` out of range, and if
        every document is empty.
        """
        match given_as:
            case Question() as question:
                pass
            case (text, documents):
                question = Question(text, documents)
            case _:
                raise TypeError(
                    "each of `questions` is a Question, or a pair of question and documents"
                )
        for name, value, kind in (
            ("question", question.text, str),
            ("id", question.id, str | None),
        ):
            if not isinstance(value, kind):
                raise TypeError(f"`{name}` is {type(value).__name__}: give a string")
        if not isinstance(question.at, datetime | None):
            raise TypeError("the time `at` is a datetime")
        id_characters = MOST_ID if question.id is None else len(question.id)
        if not 0 < len(question.text.strip()) <= MOST_QUESTION or not 0 < id_characters <= MOST_ID:
            raise ValueError(
                f"a question has 1 to {MOST_QUESTION} characters, an id 1 to {MOST_ID}"
            )
        if question.id is not None and clean(question.id) != question.id:
            raise ValueError("an id has no control characters")
        given = listed(question.documents)
        query = _query_of(question)
        if waiting := to_read(given):
            return Asked(query, given, (), in_utc(question.at), waiting)
        documents = to_documents(given)
        if documents and not any(document.text.strip() for document in documents):
            raise ValueError("every text of `documents` is empty")
        return Asked(query, given, documents, in_utc(question.at))

    def read(self, reader: DocumentReader, limits: Limits) -> "Asked":
        """Read the documents; those of a folder are listed one by one. Raises DocumentError."""
        given, offered = list[Any](), list[Offered]()
        for one, document in zip(self.given, self.to_read, strict=True):
            parts: list[Offered] = [document]
            if isinstance(document, Given) and document.path is not None:
                parts = in_path(document.path, limits)
            several = (part.path if isinstance(part, Given) else part for part in parts)
            given += [one] if len(parts) == 1 else several
            offered += parts
        documents, unread = reader.read(offered)
        return replace(self, given=tuple(given), documents=documents, to_read=(), unread=unread)

    def snapshot(self, row: MemoryRow | None) -> SearchSnapshot:
        """Return a snapshot that is newer than the memory `row`. Raises InputError if the question
        has a time that is not.
        """
        snapshot = SearchSnapshot(self.query, self.at or datetime.now(UTC), self.documents)
        ahead_ms = row.as_of_ms - snapshot.observed_at_ms if row is not None else -1
        if ahead_ms < 0:
            return snapshot
        if self.at is not None:
            why = f"the memory is as new as {self.at.isoformat()}, or newer"
            raise InputError(ReasonClass.LATE, why)
        try:
            later = snapshot.observed_at + timedelta(milliseconds=ahead_ms + 1)
        except OverflowError:
            raise InputError(ReasonClass.LATE, "no time is newer than the memory") from None
        return replace(snapshot, observed_at=later)


def _query_of(question: Question) -> Query:
    """Return the query of a question. Raises ValueError for a wrong `withstand`."""
    query = Query.from_text(clean(question.text))
    if question.id is not None:
        query = replace(query, id=question.id)
    if question.withstand is not None and question.withstand not in range(MOST_LYING + 1):
        raise ValueError(f"`withstand` is a number of sites, 0 to {MOST_LYING}")
    return replace(query, withstand=question.withstand)


def in_utc(at: datetime | None) -> datetime | None:
    """Convert a time to UTC. Raises ValueError without a zone and outside the years 1 to 9999.

    >>> in_utc(datetime.fromisoformat("2024-05-06T12:00+02:00")).hour
    10
    """
    if at is None:
        return None
    if at.tzinfo is None:
        raise ValueError("the time `at` has no time zone")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time `at` is outside of the years 1 to 9999") from None
