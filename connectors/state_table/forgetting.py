"""The right to be forgotten: delete a query with all traces that this database has of it."""

from typing import NamedTuple

from sqlalchemy import Engine, delete
from sqlalchemy.exc import DBAPIError

from connectors.state_table.engine import retry_contended
from connectors.state_table.subject import EMBEDDINGS, question_subject
from connectors.state_table.tables import MEMORY, OUTBOX, RESPONSE_CACHE, WATCHLIST
from schemas.codec.wire import WIRE_SCHEMAS
from schemas.events import AnswerEvent, AttributionEvent

# The topics whose events have the query as their key; a dead letter's key is its source.
KEYED_TOPICS = tuple(WIRE_SCHEMAS[kind].topic for kind in (AnswerEvent, AttributionEvent))


class Forgotten(NamedTuple):
    """How many rows were deleted.

    `cached_answers` are model answers about the question, `cached_unmarked` those of an earlier
    release, which do not tell what they are about, and `cached_embeddings` all embeddings, which
    do not tell it either. All three are None when no question was given.
    """

    memory: int
    unsent_events: int
    watchlist: int
    cached_answers: int | None = None
    cached_unmarked: int | None = None
    cached_embeddings: int | None = None


def forget(engine: Engine, query_id: str, question: str | None) -> Forgotten:
    """Delete a query's memory, unsent events, watchlist entry and cached model answers.

    All or nothing; doing it again deletes what appeared since. Other questions lose nothing but
    cached embeddings and unmarked answers, which are computed again when needed. Stays behind:
    unsent dead letters, which hold a record's bytes as they came, and, until `compact`, the bytes
    of the deleted rows in the database's files.
    """
    statements = [
        delete(MEMORY).where(MEMORY.c.query_id == query_id),
        delete(OUTBOX).where(OUTBOX.c.key == query_id, OUTBOX.c.topic.in_(KEYED_TOPICS)),
        delete(WATCHLIST).where(WATCHLIST.c.query_id == query_id),
    ]
    if question is not None:
        subject = RESPONSE_CACHE.c.subject
        about = (subject == question_subject(question), subject.is_(None), subject == EMBEDDINGS)
        statements += [delete(RESPONSE_CACHE).where(condition) for condition in about]

    def work() -> Forgotten:
        with engine.begin() as connection:
            return Forgotten(*(connection.execute(statement).rowcount for statement in statements))

    return retry_contended(work)


def compact(engine: Engine) -> bool:
    """Rewrite the database so that its files no longer hold the bytes of deleted rows.

    SQLite: needs as much free space again as the database takes, and no other writer; PostgreSQL:
    a plain VACUUM of the tables. Backups and a server's archived logs keep what they have.
    False when it could not be done now; the rows are deleted all the same.
    """
    tables = (MEMORY, OUTBOX, WATCHLIST, RESPONSE_CACHE)
    try:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("VACUUM")
                # The log of changes still has the old pages.
                busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
                return not busy
            connection.exec_driver_sql(f"VACUUM {', '.join(table.name for table in tables)}")
            return True
    except DBAPIError:
        return False
