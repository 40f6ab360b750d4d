"""The right to be forgotten: delete a query with all rows that this database has of it.

Rows of others stay as they are: an attribution of another query that searched the archive may show
pages of this one, and people quote questions in comments and notes.
"""

from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.corpus.texts import forget_query
from radarstream.connectors.state_table.database import tables as t
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.queries.subject import EMBEDDINGS, question_subject
from radarstream.connectors.state_table.serving.forgetting import (
    forget_events,
    forget_logged,
    forget_questions,
)
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.events import AnswerEvent, RejectedEvent

# The topics whose events have the query as their key; a dead letter's key is its source.
KEYED_TOPICS: Final = tuple(WIRE_SCHEMAS[kind].topic for kind in (AnswerEvent, RejectedEvent))
ABOUT_INCIDENTS: Final = (t.KEPT_ANSWERS, t.COMPLAINTS, t.INCIDENTS, t.QUARANTINE)


class Forgotten(NamedTuple):
    """How many rows were deleted; `corpus_texts` are those that no other query had found.

    `incidents` counts everything about wrong answers: kept answers, complaints, incidents, texts in
    quarantine.

    `cached_answers` are model answers about the question, `cached_embeddings` all embeddings, which
    do not tell what they are about. Both are None when no question was given. `logged_actions`
    are not deleted: what they said of the query is.
    """

    memory: int
    unsent_events: int
    watchlist: int
    cached_answers: int | None = None
    cached_embeddings: int | None = None
    corpus_texts: int = 0
    incidents: int = 0
    logged_actions: int = 0
    answer_events: int = 0
    user_questions: int = 0


def forget(engine: Engine, query_id: str, question: str | None) -> Forgotten:
    """Delete what the database has of a query: memory, unsent events, documents and the rest.

    All or nothing; doing it again deletes what appeared since. Other questions lose nothing but
    cached embeddings, which are computed again when needed. The bytes of the deleted rows are in
    the database's files until `compaction.compact`.
    """
    statements = [
        sa.delete(t.MEMORY).where(t.MEMORY.c.query_id == query_id),
        sa.delete(t.OUTBOX).where(t.OUTBOX.c.key == query_id, t.OUTBOX.c.topic.in_(KEYED_TOPICS)),
        sa.delete(t.WATCHLIST).where(t.WATCHLIST.c.query_id == query_id),
    ]
    if question is not None:
        subject = t.RESPONSE_CACHE.c.subject
        about = (question_subject(question), EMBEDDINGS)
        statements += [sa.delete(t.RESPONSE_CACHE).where(subject == one) for one in about]
    incidents = [sa.delete(table).where(table.c.query_id == query_id) for table in ABOUT_INCIDENTS]

    def work(connection: Connection) -> Forgotten:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        counts = [connection.execute(statement).rowcount for statement in statements]
        logged = forget_logged(connection, query_id)  # while the incidents are there
        return Forgotten(*counts)._replace(
            corpus_texts=forget_query(connection, query_id),
            incidents=sum(connection.execute(statement).rowcount for statement in incidents),
            logged_actions=logged,
            answer_events=forget_events(connection, query_id),
            user_questions=forget_questions(connection, question),
        )

    return in_transaction(engine, work)
