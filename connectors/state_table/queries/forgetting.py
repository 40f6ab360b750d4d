"""The right to be forgotten: delete a query with all traces that this database has of it.

What rows of others hold of it: the rows stay, the words go. An attribution may look for texts in
the whole archive, so an incident of one query, its quarantine and its unsent event may show pages
that another query alone had found. An unsent dead letter holds a whole record. People quote
questions in comments and notes.
"""

import json
import re
from base64 import b64decode
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Engine, func

from radarstream.connectors.state_table.corpus.texts import forget_query, not_found_by_others
from radarstream.connectors.state_table.database import tables as t
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents.kept_answers import kept_answers
from radarstream.connectors.state_table.incidents.store import (
    STORED_EVENT,
    list_attributed,
    readable,
)
from radarstream.connectors.state_table.queries.subject import EMBEDDINGS, question_subject
from radarstream.connectors.state_table.serving.forgetting import (
    forget_events,
    forget_logged,
    forget_questions,
    quotes,
)
from radarstream.schemas.codec import (
    decode_dead_letter,
    decode_envelope,
    decode_snapshot,
    encode,
    encode_envelope,
    envelope,
)
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent, DeadLetter, RejectedEvent
from radarstream.schemas.incidents import TaughtEvent
from radarstream.schemas.records import UNLIMITED

# The topics whose events have the query as their key; a dead letter's key is its source.
KEYED_TOPICS: Final = tuple(WIRE_SCHEMAS[kind].topic for kind in (AnswerEvent, RejectedEvent))
ATTRIBUTIONS: Final = WIRE_SCHEMAS[TaughtEvent].topic
DEAD_LETTERS: Final = WIRE_SCHEMAS[DeadLetter].topic
TEXT_ID: Final = re.compile(rb"d-[0-9a-f]{32}")
QUOTATION: Final = 12  # characters; a shorter question is found in texts that do not mean it
MOST_INCIDENTS: Final = 100_000
ROWS_AT_ONCE: Final = 100
ABOUT_INCIDENTS: Final = (t.KEPT_ANSWERS, t.COMPLAINTS, t.INCIDENTS, t.QUARANTINE)
QUOTING: Final = (
    t.COMPLAINTS.c.comment,
    t.SOURCE_LEDGER.c.note,
    t.SOURCE_EVENTS.c.claim,
    t.ACTION_LOG.c.target,
    t.ACTION_LOG.c.detail,
)
_I, _O, _Q = t.INCIDENTS.c, t.OUTBOX.c, t.QUARANTINE.c


class Forgotten(NamedTuple):
    """How many rows were deleted; `corpus_texts` are those that no other query had found.

    `incidents` counts everything about wrong answers: kept answers, complaints, incidents, texts in
    quarantine.

    `cached_answers` are model answers about the question, `cached_embeddings` all embeddings, which
    do not tell what they are about. Both are None when no question was given. `source_events` are
    not deleted: what they said of the query is.
    """

    memory: int
    unsent_events: int
    watchlist: int
    cached_answers: int | None = None
    cached_embeddings: int | None = None
    source_events: int = 0
    corpus_texts: int = 0
    incidents: int = 0
    dead_letters: int = 0
    elsewhere: int = 0
    answer_events: int = 0
    user_questions: int = 0


def forget(engine: Engine, query_id: str, question: str | None) -> Forgotten:
    """Delete what the database has of a query: memory, unsent events, documents and the rest.

    All or nothing; doing it again deletes what appeared since. Rows of others stay without the
    words that they had of the query (see `erase`). The ledger of sources keeps what counts against
    a domain, without a word of the query. Other questions lose nothing but cached embeddings, and
    cached answers that may have come from the query's documents, which are computed again when
    needed. The bytes of the deleted rows are in the database's files until
    `compaction.compact`.
    """
    traces = traces_of(engine, query_id, question)
    statements = [
        sa.delete(t.MEMORY).where(t.MEMORY.c.query_id == query_id),
        sa.delete(t.OUTBOX).where(t.OUTBOX.c.key == query_id, t.OUTBOX.c.topic.in_(KEYED_TOPICS)),
        sa.delete(t.WATCHLIST).where(t.WATCHLIST.c.query_id == query_id),
    ]
    if question is not None:
        subject = t.RESPONSE_CACHE.c.subject
        about = (question_subject(question), EMBEDDINGS)
        statements += [sa.delete(t.RESPONSE_CACHE).where(subject == one) for one in about]
    # That a domain is blamed stays, not what for.
    words = {"query_id": None, "step": None, "text_id": None, "claim": None}
    blank = sa.update(t.SOURCE_EVENTS).where(t.SOURCE_EVENTS.c.query_id == query_id).values(words)
    incidents = [sa.delete(table).where(table.c.query_id == query_id) for table in ABOUT_INCIDENTS]

    def work(connection: Connection) -> Forgotten:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        counts = [connection.execute(statement).rowcount for statement in statements]
        blanked = connection.execute(blank).rowcount
        erased = erase(connection, traces)
        texts = forget_query(connection, query_id)
        logged = forget_logged(connection, query_id)
        if question is not None:
            counts[3] += erased.cached
        return Forgotten(*counts)._replace(
            source_events=blanked,
            corpus_texts=texts,
            incidents=sum(connection.execute(statement).rowcount for statement in incidents),
            dead_letters=erased.dead_letters,
            elsewhere=erased.elsewhere + logged,
            answer_events=forget_events(connection, query_id),
            user_questions=forget_questions(connection, question, QUOTATION),
        )

    return in_transaction(engine, work)


@dataclass(frozen=True)
class Traces:
    """What to look for: the query, its question if known, ids of pages that it alone had found."""

    query_id: str
    question: str | None
    pages: frozenset[str]

    @property
    def quoted(self) -> tuple[bytes, ...]:
        """The question as it stands in JSON and elsewhere; empty if it is short or not known."""
        if self.question is None or len(self.question) < QUOTATION:
            return ()
        escaped = json.dumps(self.question)[1:-1]
        plain = json.dumps(self.question, ensure_ascii=False)[1:-1]
        spellings = (self.question, plain, escaped)
        return tuple({text.encode("utf-8", "surrogatepass") for text in spellings})

    def mentioned_in(self, record: bytes) -> bool:
        """Whether a record is about the query, or, where it cannot be decoded, speaks of it."""
        try:
            return decode_snapshot(record, limits=UNLIMITED).query.id == self.query_id
        except InputError:
            name = json.dumps(self.query_id, ensure_ascii=False).encode("utf-8", "surrogatepass")
            named = re.search(rb'"(query_)?id"\s*:\s*' + re.escape(name), record)
            return bool(named) or any(question in record for question in self.quoted)


class Erased(NamedTuple):
    """How many rows were deleted, and in how many of others words were."""

    dead_letters: int
    elsewhere: int
    cached: int


def traces_of(engine: Engine, query_id: str, question: str | None) -> Traces:
    """Find out what belongs to a query alone, while the database still tells."""
    kept = kept_answers(engine, query_id)
    pages = {document.content_id for answer in kept for document in answer.snapshot.documents}
    for incident in list_attributed(engine, query_id, MOST_INCIDENTS):
        texts = incident.event.texts if incident.event else ()
        pages.update(text.id for text in texts if text.search_rank is not None)
    with engine.connect() as connection:
        return Traces(query_id, question, not_found_by_others(connection, query_id, pages))


def erase(connection: Connection, traces: Traces) -> Erased:
    """Take the words out of the rows of others, and delete what holds nothing else."""
    letters, events = _erase_unsent(connection, traces)
    incidents, subjects = _erase_incidents(connection, traces)
    about: list[ColumnElement[bool]] = [t.RESPONSE_CACHE.c.subject.in_(subjects)]
    quotations = 0
    if traces.quoted and traces.question is not None:
        for column in QUOTING:
            statement = _without_quotation(column, traces.question)
            quotations += connection.execute(statement).rowcount
        about += [_holds(connection, words) for words in traces.quoted]
    cached = connection.execute(sa.delete(t.RESPONSE_CACHE).where(sa.or_(*about))).rowcount
    return Erased(letters, events + incidents + quotations, cached)


def _erase_incidents(connection: Connection, traces: Traces) -> tuple[int, list[bytes]]:
    """Return how many rows were changed, and the subjects of questions that models were asked."""
    if not traces.pages:
        return 0, []
    of_others = _I.query_id != traces.query_id
    events = sa.select(_I.incident, STORED_EVENT).where(of_others, _I.event.is_not(None))
    showing = [name for name, event in connection.execute(events) if _ids_in(event) & traces.pages]
    changed, questions = 0, set[str]()
    for name in showing:
        held = sa.select(STORED_EVENT).where(_I.incident == name).with_for_update()
        event = readable(connection.execute(held).scalar_one_or_none())
        if event is None or not (pages := _shown(event, traces)):
            continue
        questions.add(event.question)
        without = encode(_without(event, pages))
        connection.execute(sa.update(t.INCIDENTS).where(_I.incident == name).values(event=without))
        changed += 1 + _erase_quarantine(connection, name, pages)
    # An attribution that failed has no event, but its models have been asked.
    failed = sa.select(_I.query_id).where(_I.event.is_(None), of_others)
    asked = sa.select(t.KEPT_ANSWERS.c.subject).where(t.KEPT_ANSWERS.c.query_id.in_(failed))
    subjects = [bytes(subject) for subject in connection.execute(asked).scalars()]
    return changed, [*subjects, *map(question_subject, questions)]


def _erase_quarantine(connection: Connection, incident: str, pages: frozenset[str]) -> int:
    """Leave the key of a text, which keeps it away, and its site."""
    rows = (_Q.incident == incident, _Q.content_id.in_(pages))
    changed = 0
    for url in connection.execute(sa.select(_Q.url).where(*rows).distinct()).scalars().all():
        blank = {"url": site_only(url), "title": "", "excerpt": ""}
        statement = sa.update(t.QUARANTINE).where(*rows, _Q.url == url).values(blank)
        changed += connection.execute(statement).rowcount
    return changed


def _erase_unsent(connection: Connection, traces: Traces) -> tuple[int, int]:
    """Delete dead letters about the query; return how many, and how many events were changed."""
    wanted = sa.select(_O.seq, _O.topic, _O.envelope, sa.cast(_O.data, sa.LargeBinary))
    few = wanted.where(_O.topic.in_((DEAD_LETTERS, ATTRIBUTIONS)))
    few = few.execution_options(yield_per=ROWS_AT_ONCE)  # each may hold a whole record
    letters, events = list[int](), dict[int, dict[str, Any]]()
    for seq, topic, context, data in connection.execute(few):
        if topic == DEAD_LETTERS:
            if _about(data, traces):
                letters.append(seq)
        elif _ids_in(data) & traces.pages and (event := readable(data)) is not None:
            changed = _without(event, _shown(event, traces))
            named = envelope(changed)
            with suppress(InputError):  # its id stays, it may have been sent already
                named = replace(named, id=decode_envelope(context).id)
            events[seq] = {"envelope": encode_envelope(named), "data": encode(changed)}
    for seq in letters:
        connection.execute(sa.delete(t.OUTBOX).where(_O.seq == seq))
    for seq, values in events.items():
        connection.execute(sa.update(t.OUTBOX).where(_O.seq == seq).values(values))
    return len(letters), len(events)


def _about(letter: bytes, traces: Traces) -> bool:
    try:
        record = b64decode(decode_dead_letter(letter).payload_base64)
    except (InputError, ValueError):
        return traces.mentioned_in(letter)
    return traces.mentioned_in(record)


def _ids_in(event: bytes) -> set[str]:
    return {name.decode() for name in TEXT_ID.findall(event)}


def _shown(event: TaughtEvent, traces: Traces) -> frozenset[str]:
    """Pages of the forgotten query that the other query's own search did not return."""
    return frozenset(text.id for text in event.texts if text.search_rank is None) & traces.pages


def _without(event: TaughtEvent, pages: frozenset[str]) -> TaughtEvent:
    texts = (
        replace(text, url=site_only(text.url), title="", excerpt="") if text.id in pages else text
        for text in event.texts
    )
    return replace(event, texts=tuple(texts))


def site_only(url: str) -> str:
    """The address of a page's site: whom the ledger of sources holds responsible.

    >>> site_only("https://example.org/who-asked?for=this")
    'https://example.org/'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    site = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{site}/" if site else ""


def _without_quotation(column: sa.Column[str], question: str) -> sa.Update:
    return (
        sa.update(column.table)
        .where(quotes(column, question))
        .values({column: None if column.nullable else ""})
    )


def _holds(connection: Connection, words: bytes) -> ColumnElement[bool]:
    value = t.RESPONSE_CACHE.c.value
    if connection.dialect.name == "sqlite":
        return func.instr(value, words) > 0
    return func.position(sa.literal(words).op("IN")(value)) > 0
