"""Deletes a query or a user with all their rows, for the right to be forgotten.

All rows are deleted or none. Rows of others stay: attributions of other queries may have pages of
this one, and people quote questions in comments and notes. The bytes of deleted rows stay in the
database's files until `compact`, or until their space is used again.
"""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Final

from sqlalchemy import (
    Connection,
    Delete,
    Engine,
    Table,
    Update,
    delete,
    func,
    or_,
    select,
    union,
    update,
)
from sqlalchemy.exc import OperationalError

from radarstream.connectors.state_table.corpus import texts
from radarstream.connectors.state_table.database import tables as t
from radarstream.connectors.state_table.database.engine import database_code
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.queries.subject import (
    EMBEDDINGS,
    owner_of,
    question_subject,
)
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from radarstream.schemas.names import plain_name
from radarstream.schemas.users import user_name

# The topics whose events have the query as key; the key of a dead letter is its source.
KEYED_TOPICS: Final = tuple(WIRE_SCHEMAS[kind].topic for kind in (AnswerEvent, RejectedEvent))
ABOUT_INCIDENTS: Final = (t.KEPT_ANSWERS, t.COMPLAINTS, t.INCIDENTS, t.QUARANTINE)
OF_USERS: Final = {
    "sessions": t.SESSIONS,
    "trust": t.USER_TRUST,
    "questions": t.USER_QUESTIONS,
    "epsilon_spending": t.EPSILON_SPENDING,
}
ON_SERVER: Final = (
    "the bytes of deleted rows in the files of the PostgreSQL server, until its administrator runs "
    "VACUUM (FULL, ANALYZE), VACUUM FULL pg_statistic and CHECKPOINT while no older transaction is "
    "open; its samples of a table that has become empty; its write-ahead log until the segments "
    "are used again, its archive, replicas and logs"
)
IN_FILE: Final = "the bytes of deleted rows in the database's files: {}; run it again"
Statements = Mapping[str, Sequence[Delete | Update]]


def forget(engine: Engine, query_id: str, question: str | None) -> dict[str, int | None]:
    """Delete the rows of a query; return their number by kind.

    `corpus_texts` are those that no other query found; `logged_actions` stay without the query. All
    `cached_embeddings` go, because their question is unknown. Without a `question`, the kinds that
    are found by its words are skipped, with the count None.
    """
    asked = t.USER_QUESTIONS.c.question
    words, outbox = question or "", t.OUTBOX.c
    same = or_(asked == words, func.lower(asked) == words.lower())
    cached, subject = delete(t.RESPONSE_CACHE), t.RESPONSE_CACHE.c.subject
    by_words: Statements = {
        "cached_answers": [cached.where(subject == question_subject(words))],
        "cached_embeddings": [cached.where(subject == EMBEDDINGS)],
        "user_questions": [delete(t.USER_QUESTIONS).where(same)],
    }
    statements: Statements = {
        "memory": _of_query(query_id, t.MEMORY),
        "unsent_events": [
            delete(t.OUTBOX).where(outbox.key == query_id, outbox.topic.in_(KEYED_TOPICS))
        ],
        "watchlist": _of_query(query_id, t.WATCHLIST),
        **(by_words if question is not None else {}),
        "logged_actions": _unnamed(query_id),  # before the incidents, which it needs
        "incidents": _of_query(query_id, *ABOUT_INCIDENTS),
        "answer_events": _of_query(query_id, t.KEPT_EVENTS),
    }

    def work(connection: Connection) -> dict[str, int | None]:
        counts = _executed(connection, statements)
        counts["corpus_texts"] = texts.forget_query(connection, query_id)
        return {**dict.fromkeys(by_words), **counts}

    return in_transaction(engine, work)


def forget_user(engine: Engine, name: str) -> dict[str, int | None]:
    """Delete the rows of a user; return their number by kind.

    `complaints` and the `action_log` concern others too: they stay under a random name, and
    complaints lose their comments.
    """
    senders = {plain_name(name), user_name(name)}
    name, nobody = user_name(name), f"forgotten-{token_hex(8)}"
    log, key, owner = t.ACTION_LOG.c, t.RESPONSE_CACHE.c.key, owner_of(name)
    statements: Statements = {
        "users": [delete(t.USERS).where(t.USERS.c.name == name)],
        **{of: [delete(one).where(one.c.user_name == name)] for of, one in OF_USERS.items()},
        "cached_answers": [
            delete(t.RESPONSE_CACHE).where(key >= owner, key < owner + b"\xff" * 32)
        ],
        "complaints": [
            update(t.COMPLAINTS)
            .where(t.COMPLAINTS.c.sender.in_(senders))
            .values(sender=nobody, comment="")
        ],
        "action_log": [
            update(t.ACTION_LOG).where(log.user_name == name).values(user_name=nobody),
            update(t.ACTION_LOG).where(log.target == name).values(target=nobody),
        ],
    }
    return in_transaction(engine, lambda connection: _executed(connection, statements))


def _of_query(query_id: str, *tables: Table) -> list[Delete]:
    return [delete(table).where(table.c.query_id == query_id) for table in tables]


def _unnamed(query_id: str) -> list[Update]:
    """Remove a query from the action log: its id, and details about its incidents."""
    log, incidental = t.ACTION_LOG.c, (t.COMPLAINTS, t.INCIDENTS)
    passages = log.target.startswith(f"{query_id} ", autoescape=True)  # its texts in quarantine
    incidents = union(*(select(i.c.incident).where(i.c.query_id == query_id) for i in incidental))
    about = update(t.ACTION_LOG).where(log.target.in_(incidents), log.detail != "")
    named = update(t.ACTION_LOG).where(or_(log.target == query_id, passages))
    return [named.values(target="", detail=""), about.values(detail="")]


def _executed(connection: Connection, statements: Statements) -> dict[str, int | None]:
    """Run statements; return how many rows they changed, by name."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    return {
        name: sum(connection.execute(statement).rowcount for statement in some)
        for name, some in statements.items()
    }


def compact(engine: Engine) -> str:
    """Rewrite a SQLite database so that its files have no bytes of deleted rows.

    Returns a sentence about where such bytes still are, "" if nowhere. On a server, an
    administrator must rewrite it. Needs as much free space as the database; others cannot write
    meanwhile.
    """
    if engine.dialect.name != "sqlite":
        return ON_SERVER
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            connection.exec_driver_sql("VACUUM")
            # The log of changes still has the old pages.
            busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        except OperationalError as error:
            why = f"another process was writing or space was short ({database_code(error)})"
            return IN_FILE.format(why)
    return IN_FILE.format("another process was reading") if busy else ""
