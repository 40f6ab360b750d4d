"""The right to be forgotten: delete a query with all traces that this database has of it."""

from typing import NamedTuple

from sqlalchemy import Connection, Engine, delete, update

from radarstream.connectors.state_table.corpus.texts import forget_query
from radarstream.connectors.state_table.database import tables as t
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.queries.subject import EMBEDDINGS, question_subject
from radarstream.connectors.state_table.queries.traces import erase, traces_of
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.events import AnswerEvent, RejectedEvent

# The topics whose events have the query as their key; a dead letter's key is its source.
KEYED_TOPICS = tuple(WIRE_SCHEMAS[kind].topic for kind in (AnswerEvent, RejectedEvent))

ABOUT_INCIDENTS = (t.KEPT_ANSWERS, t.COMPLAINTS, t.INCIDENTS, t.QUARANTINE)


class Forgotten(NamedTuple):
    """How many rows were deleted; `corpus_texts` are those that no other query had found.

    `incidents` counts everything about wrong answers: kept answers, complaints, incidents, texts in
    quarantine.

    `cached_answers` are model answers about the question, `cached_unmarked` those of an earlier
    release, which do not tell what they are about, and `cached_embeddings` all embeddings, which
    do not tell it either. All three are None when no question was given. `source_events` are not
    deleted: what they said of the query is.
    """

    memory: int
    unsent_events: int
    watchlist: int
    cached_answers: int | None = None
    cached_unmarked: int | None = None
    cached_embeddings: int | None = None
    source_events: int = 0
    corpus_texts: int = 0
    incidents: int = 0
    dead_letters: int = 0
    elsewhere: int = 0


def forget(engine: Engine, query_id: str, question: str | None) -> Forgotten:
    """Delete what the database has of a query: memory, unsent events, documents and the rest.

    All or nothing; doing it again deletes what appeared since. Rows of others stay without the
    words that they had of the query (see `traces`). The ledger of sources keeps what counts against
    a domain, without a word of the query. Other questions lose nothing but cached embeddings,
    unmarked answers, and cached answers that may have come from the query's documents, which are
    computed again when needed. The bytes of the deleted rows are in the database's files until
    `compaction.compact`.
    """
    traces = traces_of(engine, query_id, question)
    statements = [
        delete(t.MEMORY).where(t.MEMORY.c.query_id == query_id),
        delete(t.OUTBOX).where(t.OUTBOX.c.key == query_id, t.OUTBOX.c.topic.in_(KEYED_TOPICS)),
        delete(t.WATCHLIST).where(t.WATCHLIST.c.query_id == query_id),
    ]
    if question is not None:
        subject = t.RESPONSE_CACHE.c.subject
        about = (subject == question_subject(question), subject.is_(None), subject == EMBEDDINGS)
        statements += [delete(t.RESPONSE_CACHE).where(condition) for condition in about]
    # That a domain is blamed stays, not what for.
    words = {"query_id": None, "step": None, "text_id": None, "claim": None}
    blank = update(t.SOURCE_EVENTS).where(t.SOURCE_EVENTS.c.query_id == query_id).values(words)
    incidents = [delete(table).where(table.c.query_id == query_id) for table in ABOUT_INCIDENTS]

    def work(connection: Connection) -> Forgotten:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        counts = [connection.execute(statement).rowcount for statement in statements]
        blanked = connection.execute(blank).rowcount
        erased = erase(connection, traces)
        texts = forget_query(connection, query_id)
        if question is not None:
            counts[3] += erased.cached
        return Forgotten(
            *counts,
            source_events=blanked,
            corpus_texts=texts,
            incidents=sum(connection.execute(statement).rowcount for statement in incidents),
            dead_letters=erased.dead_letters,
            elsewhere=erased.elsewhere,
        )

    return in_transaction(engine, work)
