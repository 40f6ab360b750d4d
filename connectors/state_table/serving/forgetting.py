"""Delete a user, and what the service keeps of a query.

Of a user, what others rely on stays, under a name that stands for nobody.
"""

from secrets import token_hex
from typing import Final, NamedTuple

from sqlalchemy import Connection, Engine, delete, func, or_, select, union, update

from radarstream.connectors.state_table.database import tables as t
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.database.tables import COMPLAINTS, INCIDENTS, RESPONSE_CACHE
from radarstream.connectors.state_table.queries.subject import owner_of
from radarstream.schemas.names import plain_name
from radarstream.schemas.users import user_name

NAMED: Final = (t.SESSIONS, t.USER_TRUST, t.USER_QUESTIONS, t.EPSILON_SPENDING)
INCIDENTAL: Final = (COMPLAINTS, INCIDENTS)


class ForgottenUser(NamedTuple):
    """How many rows were deleted, and how many complaints and log entries lost the name."""

    users: int
    sessions: int
    trust: int
    questions: int
    epsilon_spending: int
    cached_answers: int
    complaints: int
    action_log: int


def forget_user(engine: Engine, name: str) -> ForgottenUser:
    """Delete a user, all or nothing; somebody added under the same name later starts anew.

    Complaints and the action log are records of others, too: they keep what was said and done,
    under a random name, and complaints lose their comments. Deleted bytes stay in the database's
    files until `compaction.compact`.
    """
    senders = {plain_name(name), user_name(name)}
    name, nobody = user_name(name), f"forgotten-{token_hex(8)}"
    log, sent = t.ACTION_LOG.c, COMPLAINTS.c

    def work(connection: Connection) -> ForgottenUser:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete = ON")
        gone = [delete(t.USERS).where(t.USERS.c.name == name)]
        gone += [delete(table).where(table.c.user_name == name) for table in NAMED]
        key, owner = RESPONSE_CACHE.c.key, owner_of(name)
        gone.append(delete(RESPONSE_CACHE).where(key >= owner, key < owner + b"\xff" * 32))
        anonymous = update(COMPLAINTS).where(sent.sender.in_(senders))
        logged = update(t.ACTION_LOG).where(log.user_name == name).values(user_name=nobody)
        about = update(t.ACTION_LOG).where(log.target == name).values(target=nobody)
        counts = [
            connection.execute(statement).rowcount
            for statement in (*gone, anonymous.values(sender=nobody, comment=""))
        ]
        changed = connection.execute(logged).rowcount + connection.execute(about).rowcount
        return ForgottenUser._make([*counts, changed])

    return in_transaction(engine, work)


def forget_events(connection: Connection, query_id: str) -> int:
    """Delete the kept events of a query; return how many."""
    gone = delete(t.KEPT_EVENTS).where(t.KEPT_EVENTS.c.query_id == query_id)
    return connection.execute(gone).rowcount


def forget_logged(connection: Connection, query_id: str) -> int:
    """Take a query out of the action log: its id, and what was said of its incidents, which the
    caller deletes after this. Returns of how many rows.
    """
    log = t.ACTION_LOG.c
    texts = log.target.startswith(f"{query_id} ", autoescape=True)  # its texts in quarantine
    named = update(t.ACTION_LOG).where(or_(log.target == query_id, texts))
    incidents = union(
        *(select(table.c.incident).where(table.c.query_id == query_id) for table in INCIDENTAL)
    )
    about = update(t.ACTION_LOG).where(log.target.in_(incidents), log.detail != "")
    changed = connection.execute(named.values(target="", detail="")).rowcount
    return changed + connection.execute(about.values(detail="")).rowcount


def forget_questions(connection: Connection, question: str | None) -> int:
    """Delete what users asked in the words of a query's question; return how many."""
    if question is None:
        return 0
    asked = t.USER_QUESTIONS.c.question
    same = or_(asked == question, func.lower(asked) == question.lower())
    return connection.execute(delete(t.USER_QUESTIONS).where(same)).rowcount
